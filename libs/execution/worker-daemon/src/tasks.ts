import { randomBytes } from 'node:crypto';
import type { Clock } from '#platform/kernel';
import type { HostLog } from '#execution/runner-host';
import { EXECUTION_ENV, type TaskAssignmentData, type TaskRef, type WorkerFrame } from '#execution/worker-protocol';
import { ActiveTask, type Wish } from './active-task.js';
import { type Backend, type BackendTask, type ClaimedTask, SetupFault, type TaskEnd } from './backend.js';
import { endFrame, exitCodeOf } from './end-frame.js';
import { handoverFor } from './handover.js';
import type { Journal } from './journal.js';
import type { WorkerMetrics } from './metrics.js';
import type { WorkerOptions } from './options/read-worker-options.js';

export interface TasksParts {
  readonly options: WorkerOptions;
  readonly backend: Backend;
  readonly journal: Journal;
  readonly metrics: WorkerMetrics;
  readonly clock: Clock;
  readonly log: HostLog;
  /** Hands a frame to the network; whether that went well. */
  readonly send: (frame: WorkerFrame) => Promise<boolean>;
  /** An execution has ended, or the server has heard of an end. */
  readonly changed: (ended: { readonly taskId: string; readonly exitCode: number } | null) => void;
}

/** The executions of this worker, from claim to the moment at which the server knows of their end. */
export class Tasks {
  private readonly tasks = new Map<string, ActiveTask>();

  constructor(private readonly parts: TasksParts) {}

  get live(): ActiveTask[] {
    return [...this.tasks.values()].filter(({ isLive }) => isLive);
  }

  /** Ends of which the server may not have heard. */
  get untold(): ActiveTask[] {
    return [...this.tasks.values()].filter(({ isLive }) => !isLive);
  }

  get freeSlots(): number {
    return Math.max(0, this.parts.options.slots - this.live.length);
  }

  /** The journal, for hello. */
  get all(): TaskRef[] {
    return [...this.tasks.values()].map(refOf);
  }

  get liveRefs(): TaskRef[] {
    return this.live.map(refOf);
  }

  /** Takes up what an earlier process of the daemon has left. */
  async restore(): Promise<void> {
    const { journal, backend, log } = this.parts;
    for (const entry of journal.read()) {
      const { task_id, execution_id } = entry;
      if (entry.backend !== backend.name) {
        log.warn('an execution of another backend is left alone', { task_id, execution_id, backend: entry.backend });
        continue;
      }
      const task = new ActiveTask(task_id, execution_id);
      task.entry = entry;
      this.tasks.set(execution_id, task);
      const runner = await backend.reattach(entry).catch((error: unknown) => {
        log.error('an execution cannot be looked after', { task_id, execution_id, error: String(error) });
        return null;
      });
      if (runner === null) {
        await backend
          .clear(entry)
          .catch((error: unknown) =>
            log.error('what is left of an execution stays', { task_id, execution_id, error: String(error) }),
          );
        this.settle(task, { kind: 'vanished', message: 'The runner was gone when the worker came back.' });
      } else {
        log.info('a runner is taken up again', { task_id, execution_id });
        this.follow(task, runner);
      }
    }
  }

  /** Claims an assignment when there is room, and starts what could be claimed. Never rejects. */
  async assign(assignment: TaskAssignmentData, refusal: string | null): Promise<void> {
    const { task_id: taskId, execution_id: executionId } = assignment;
    const { journal, log, options, send } = this.parts;
    const ids = { task_id: taskId, execution_id: executionId };
    const active = this.tasks.get(executionId);
    const claim: WorkerFrame = { type: 'task_claimed', data: { task_id: taskId, worker_id: options.workerId } };
    if (active !== undefined) {
      log.info('an assignment that is known is ignored', ids);
      // The first claim may have been lost with its connection.
      if (active.isLive && active.runner !== null) await send(claim);
      return;
    }
    const older = this.live.find((task) => task.taskId === taskId);
    // The server has given the older one up, else it could not offer another.
    older?.ask('lost');
    const reason =
      older === undefined
        ? (refusal ?? this.faultOf(assignment))
        : 'An earlier execution of this task is still ending.';
    if (reason !== null || this.freeSlots === 0) return this.reject(assignment, reason ?? 'at capacity');
    // Claimed, it would fail: a worker with a full disk would be the end of every run that waits.
    const fault = journal.fault();
    if (fault !== null) {
      log.error('the journal cannot be written: tasks are rejected', { error: fault });
      return this.reject(assignment, `This worker cannot write its journal (${fault}).`);
    }
    const task = new ActiveTask(taskId, executionId);
    this.tasks.set(executionId, task);
    if (!(await send(claim))) {
      log.warn('a claim could not be sent: the task is not started', ids);
      this.tasks.delete(executionId);
      return this.parts.changed(null);
    }
    this.parts.metrics.claimed.inc();
    log.info('task claimed', ids);
    await this.start(task, assignment);
  }

  /** What the server wants of one of our tasks. */
  ask(by: { readonly taskId?: string; readonly executionId?: string }, wish: Wish): void {
    for (const task of this.live) {
      if (task.taskId !== by.taskId && task.executionId !== by.executionId) continue;
      if (task.ask(wish)) this.parts.log.info('task is asked to stop', { ...refOf(task), wish });
    }
  }

  /** Not the server's any more: nothing is to be told, and nothing kept. */
  forget(executionId: string): void {
    const task = this.tasks.get(executionId);
    if (task?.isLive) task.ask('lost');
    else if (task) this.drop(task);
  }

  /** Tells the ends that are not known to have been heard. `mark` is asked after all have been sent. */
  async tell(mark: () => number): Promise<void> {
    const waiting = this.untold.filter(({ end }) => end?.mark === null);
    for (const task of waiting) {
      if (task.end?.frame && !(await this.parts.send(task.end.frame))) return;
    }
    if (waiting.length === 0) return;
    const marked = mark();
    for (const { end } of waiting) if (end) end.mark = marked;
  }

  /** With a new connection everything that was sent on the old one is in doubt. */
  doubt(): void {
    for (const { end } of this.untold) if (end) end.mark = null;
  }

  confirmed(mark: number): void {
    for (const task of this.untold)
      if (task.end?.mark !== null && task.end !== null && task.end.mark <= mark) this.drop(task);
  }

  private faultOf({ execution_id: executionId, env_vars: variables }: TaskAssignmentData): string | null {
    if (!/^\d{1,19}$/.test(executionId)) return 'The execution has no number.';
    return variables?.[EXECUTION_ENV.executionToken] ? null : 'The assignment has no token for its runner.';
  }

  private async reject({ task_id, execution_id }: TaskAssignmentData, reason: string): Promise<void> {
    this.parts.metrics.rejected.inc();
    this.parts.log.info('task rejected', { task_id, execution_id, reason });
    await this.parts.send({ type: 'task_rejected', data: { task_id, reason } });
  }

  private async start(task: ActiveTask, assignment: TaskAssignmentData): Promise<void> {
    const { backend, journal, clock, log, options } = this.parts;
    const cookie = randomBytes(32).toString('hex');
    const claimed: ClaimedTask = {
      taskId: task.taskId,
      executionId: task.executionId,
      cookie,
      assignment,
      handover: (place) => handoverFor(options, assignment, cookie, place),
    };
    let runner: BackendTask | null = null;
    try {
      runner = await backend.launch(claimed);
      task.entry = {
        task_id: task.taskId,
        execution_id: task.executionId,
        cookie,
        started_at: clock.now().toISOString(),
        backend: backend.name,
        handle: runner.handle,
      };
      journal.write(task.entry);
      this.follow(task, runner);
      await runner.begin();
      log.info('runner started', { ...refOf(task), ...shown(runner.handle) });
    } catch (error) {
      log.error('task could not be started', { ...refOf(task), error: String(error) });
      if (runner !== null && task.runner === runner) return runner.signal('SIGKILL');
      runner?.signal('SIGKILL');
      const message = error instanceof Error ? error.message : String(error);
      this.settle(
        task,
        error instanceof SetupFault ? { kind: 'setup_failed', message } : { kind: 'vanished', message },
      );
    }
  }

  private follow(task: ActiveTask, runner: BackendTask): void {
    task.attach(runner);
    void runner.ended.then((end) => this.settle(task, end));
  }

  private settle(task: ActiveTask, end: TaskEnd): void {
    const frame = endFrame(task.taskId, end, task.wish);
    const exitCode = exitCodeOf(end);
    this.parts.metrics.ended(frame?.type === 'task_completed' ? 'completed' : frame === null ? 'lost' : 'failed');
    const level = exitCode === 0 ? 'info' : 'warn';
    this.parts.log[level]('task ended', {
      ...refOf(task),
      end: end.kind,
      exit_code: exitCode,
      told: frame?.type ?? 'nothing',
    });
    task.hasEnded(frame);
    if (frame === null) this.drop(task);
    this.parts.changed({ taskId: task.taskId, exitCode });
  }

  private drop(task: ActiveTask): void {
    this.tasks.delete(task.executionId);
    if (task.entry !== null) this.parts.journal.remove(task.executionId);
    this.parts.changed(null);
  }
}

const refOf = ({ taskId, executionId }: ActiveTask): TaskRef => ({ task_id: taskId, execution_id: executionId });

/** What of a handle helps whoever reads the log. */
const shown = ({ pid, container }: Readonly<Record<string, string | number>>): Record<string, string | number> => ({
  ...(pid === undefined ? {} : { pid }),
  ...(container === undefined ? {} : { container }),
});
