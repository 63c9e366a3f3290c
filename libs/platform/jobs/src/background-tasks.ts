import { getSharedConfigToken } from '@nestjs/bullmq';
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { type Job, Queue, type QueueOptions, Worker } from 'bullmq';
import { Settings } from '#platform/config';
import { Metrics } from '#platform/observability';
import { isDatabaseUnavailable } from '#platform/persistence';
import { PeriodicTask, type TaskObserver, type TaskRun } from './periodic-task.js';
import { definedTasks, missingTasks, type ServerProcess, type TaskDefinition, taskKey } from './task-definition.js';
import { addOnce, WakeUp } from './wake-up.js';

export const SERVER_PROCESS = Symbol('SERVER_PROCESS');

const DURATION_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600];

@Injectable()
export class BackgroundTasks implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger(BackgroundTasks.name);
  private readonly tasks = new Map<string, PeriodicTask>();
  private readonly startedByOwner = new Set<PeriodicTask>();
  private readonly queues = new Map<string, Queue>();
  private readonly wakeUps = new Map<TaskDefinition, WakeUp>();
  private readonly workers: Worker[] = [];
  private readonly observer: TaskObserver;
  private readonly runs;

  constructor(
    @Inject(SERVER_PROCESS) private readonly process: ServerProcess | null,
    @Inject(getSharedConfigToken()) private readonly queueOptions: QueueOptions,
    private readonly settings: Settings,
    private readonly intervals: SchedulerRegistry,
    metrics: Metrics,
  ) {
    this.runs = metrics.counter('headrace_background_task_runs_total', 'Runs of background tasks.', ['task', 'result']);
    const durations = metrics.histogram(
      'headrace_background_task_duration_seconds',
      'Durations of runs of background tasks.',
      ['task'],
      DURATION_BUCKETS,
    );
    this.observer = (task, result, seconds) => {
      this.runs.inc({ task, result });
      durations.observe({ task }, seconds);
    };
  }

  /** Called by constructors. Started with the application, or by the owner (`startsBy`). Throws for a second implementation. */
  implement(
    definition: TaskDefinition,
    run: TaskRun,
    { startsBy = 'application' }: { readonly startsBy?: 'application' | 'owner' } = {},
  ): PeriodicTask {
    const key = taskKey(definition);
    if (this.tasks.has(key)) throw new Error(`The task ${key} has two implementations: keep one of them.`);
    const task = new PeriodicTask(definition, run, this.observer);
    // A counter that appears with its first event has no increase by it.
    for (const result of ['succeeded', 'failed']) this.runs.inc({ task: key, result }, 0);
    this.tasks.set(key, task);
    if (startsBy === 'owner') this.startedByOwner.add(task);
    return task;
  }

  /** Runs the task soon, in a process that implements it. A hint: it may be lost, and never throws. */
  wake(definition: TaskDefinition): void {
    let wakeUp = this.wakeUps.get(definition);
    if (!wakeUp) {
      wakeUp = new WakeUp(this.queueOf(definition), definition.name, definition.wakeUp?.coalesceMs ?? 0);
      this.wakeUps.set(definition, wakeUp);
    }
    wakeUp.send();
  }

  /** Implements and starts a task of the scope `process`, for an owner that decides after the start that it is needed. */
  run(definition: TaskDefinition, run: TaskRun): PeriodicTask {
    const task = this.implement(definition, run, { startsBy: 'owner' });
    this.startInterval(task);
    return task;
  }

  async onApplicationBootstrap(): Promise<void> {
    const missing = this.process ? missingTasks(this.process, definedTasks(), new Set(this.tasks.keys())) : [];
    if (missing.length > 0)
      throw new Error(
        `Declared tasks have no implementation: ${missing.join(', ')}. Add BackgroundTasks.implement(…).`,
      );
    this.openWorkers();
    for (const task of this.tasks.values()) if (!this.startedByOwner.has(task)) await this.start(task);
  }

  /** From here on it runs by its period and its wake-ups. */
  async start(task: PeriodicTask): Promise<void> {
    if (task.definition.scope === 'process') return this.startInterval(task);
    const { name } = task.definition;
    await this.queueOf(task.definition).upsertJobScheduler(
      name,
      { every: this.periodOf(task) },
      { name, data: {}, opts: { removeOnComplete: true, removeOnFail: true } },
    );
  }

  /** Waits for the runs under way. Owners may have stopped theirs earlier, where the order matters. */
  async onModuleDestroy(): Promise<void> {
    await Promise.all([...this.tasks.values()].map((task) => task.stop()));
    await Promise.all([...this.wakeUps.values()].map((wakeUp) => wakeUp.close()));
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.close()));
    await Promise.all([...this.queues.values()].map((queue) => queue.close()));
  }

  private startInterval(task: PeriodicTask): void {
    this.intervals.addInterval(taskKey(task.definition), task.start(this.periodOf(task)));
  }

  private periodOf({ definition: { period } }: PeriodicTask): number {
    return typeof period === 'number' ? period : period.of(this.settings);
  }

  private openWorkers(): void {
    const queues = [...this.tasks.values()].flatMap(({ definition }) => definition.queue ?? []);
    for (const { name, options } of new Map(queues.map((queue) => [queue.name, queue])).values()) {
      const worker = new Worker(name, (job) => this.handle(job), {
        connection: this.queueOptions.connection,
        ...options,
      });
      // BullMQ reconnects by itself; without a listener it would write raw stacks to the console.
      worker.on('error', (error) => this.warn(`The worker of the queue ${name}`, error));
      this.workers.push(worker);
    }
  }

  /** An outage concerns all queues of the process: one line for them, which is counted. */
  private warn(part: string, error: Error): void {
    this.logger.warn(
      `${isDatabaseUnavailable(error) ? 'The queues are unavailable' : `${part} reports`}: ${error.message}`,
    );
  }

  private async handle({ queueName, name }: Job): Promise<void> {
    const task = [...this.tasks.values()].find(
      ({ definition }) => definition.queue?.name === queueName && definition.name === name,
    );
    if (!task) throw new Error(`The queue ${queueName} has a job ${name} that no task of this process handles.`);
    const { scope, wakeUp } = task.definition;
    if (scope === 'cluster') {
      // The rest is another job: another process may run it, and a process that is killed loses little.
      if ((await task.runAsJob()) === 'again') await addOnce(this.queueOf(task.definition), name, `${name}/again`);
    } else if (wakeUp?.holdsJob) await task.wakeAndWait();
    else task.wake();
  }

  private queueOf({ queue, name }: TaskDefinition): Queue {
    if (!queue) throw new Error(`The task ${name} has no queue.`);
    const known = this.queues.get(queue.name);
    if (known) return known;
    const opened = new Queue(queue.name, this.queueOptions);
    opened.on('error', (error) => this.warn(`The queue ${queue.name}`, error));
    this.queues.set(queue.name, opened);
    return opened;
  }
}
