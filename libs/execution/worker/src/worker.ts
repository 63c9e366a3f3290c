import {
  type Backend,
  type BackendTask,
  failedStart,
  type FoundTask,
  type HostLog,
  type RunningTask,
  startStopped,
  type TaskEnd,
  type TaskHandle,
} from '#execution/backends';
import { type DrainOptions, drainTasks } from './drain-tasks.js';
import { type ExecutionRef, WorkerTask } from './worker-task.js';

/** How a worker reports to the server: with frames over its connection, or with calls in the same process. */
export interface WorkerTransport {
  /** The worker accepts an offer. Resolves with false when that could not be reported: nothing is started. */
  claim(task: WorkerTask): Promise<boolean>;
  /** The runner exists and waits for its hand-over. An error that this throws ends the execution. */
  started(task: WorkerTask, handle: TaskHandle): void;
  /** The program of the runner runs. */
  launched?(task: WorkerTask): void;
  /** Nothing of the execution exists any more. The worker remembers it until this resolves. Never rejects. */
  ended(task: WorkerTask, end: TaskEnd): void | Promise<void>;
}

/** Executes what it is offered on one backend. The processor has one for hosted runs, and every worker daemon has one. */
export class Worker {
  private readonly tasks = new Map<string, WorkerTask>();

  constructor(
    readonly backend: Backend,
    private readonly transport: WorkerTransport,
    private readonly log: HostLog,
  ) {}

  get live(): WorkerTask[] {
    return [...this.tasks.values()].filter(({ isLive }) => isLive);
  }

  /** An execution whose end has not been reported. */
  find(executionId: string): WorkerTask | undefined {
    return this.tasks.get(executionId);
  }

  /** Claims the offer and starts it. Resolves when the execution has begun, or will not. Never rejects. */
  async execute(ref: ExecutionRef, backendTask: BackendTask): Promise<void> {
    const task = this.add(ref);
    if (!(await this.transport.claim(task))) {
      this.log.warn('a claim could not be sent: the execution is not started', idsOf(task));
      task.hasEnded();
      return this.release(task);
    }
    await this.start(task, backendTask);
  }

  /**
   * Supervises a runner of an earlier process again. Reports its end when it no longer exists. When that is not known, the execution is
   * left to a later call or its lease. Never rejects.
   */
  async reattach(ref: ExecutionRef, handle: TaskHandle): Promise<void> {
    const task = this.add(ref);
    let runner: RunningTask | null;
    try {
      runner = await this.backend.reattach(ref.executionId, handle);
    } catch (error) {
      this.log.error('an execution cannot be restored', { ...idsOf(task), error: String(error) });
      task.hasEnded();
      return this.release(task);
    }
    if (runner !== null) {
      this.log.info('a runner is supervised again', idsOf(task));
      return this.follow(task, runner);
    }
    await this.remove({ executionId: ref.executionId, handle });
    const message = 'The runner no longer existed when the worker restarted.';
    await this.end(task, { kind: 'vanished', reason: 'runner_vanished', message });
  }

  /** What exists of executions that this worker does not execute. Rejects when it cannot be listed now. */
  async unsupervised(): Promise<FoundTask[]> {
    return (await this.backend.list()).filter(({ executionId }) => !this.tasks.has(executionId));
  }

  /** Removes what is left of an execution. Returns whether it is gone; the log says why not. */
  async remove({ executionId, handle }: Pick<FoundTask, 'executionId' | 'handle'>): Promise<boolean> {
    try {
      await this.backend.remove(executionId, handle);
      return true;
    } catch (error) {
      // What cannot be removed must not keep the others, nor the service.
      const fields = { execution_id: executionId, error: String(error) };
      this.log.error('processes and files of an execution could not be removed', fields);
      return false;
    }
  }

  /** Lets working agents finish for a while, then ends the rest. Nothing runs and everything is reported afterwards. */
  async drain(options: DrainOptions): Promise<void> {
    await drainTasks(this.tasks, options, this.log);
    this.backend.close?.();
  }

  private add(ref: ExecutionRef): WorkerTask {
    const task = new WorkerTask(ref);
    this.tasks.set(task.executionId, task);
    return task;
  }

  private async start(task: WorkerTask, backendTask: BackendTask): Promise<void> {
    let runner: RunningTask | null = null;
    try {
      runner = await this.backend.start(backendTask, task.startSignal);
      if (task.startSignal.aborted) throw startStopped();
      this.transport.started(task, runner.handle);
      this.follow(task, runner);
      await runner.begin();
      this.log.info('runner started', { ...idsOf(task), ...runner.handle });
      void (runner.launched ?? Promise.resolve()).then(() => task.isLive && this.transport.launched?.(task));
    } catch (error) {
      if (runner === null) return this.end(task, failedStart(error));
      this.log.error('an execution could not be started', { ...idsOf(task), error: String(error) });
      runner.signal('SIGKILL');
      if (task.runner !== null) return; // Its end is reported when it has exited.
      await runner.ended;
      await this.end(task, failedStart(error));
    }
  }

  private follow(task: WorkerTask, runner: RunningTask): void {
    task.attach(runner);
    void runner.ended.then((end) => this.end(task, end));
  }

  private async end(task: WorkerTask, end: TaskEnd): Promise<void> {
    task.hasEnded();
    await this.transport.ended(task, end);
    this.release(task);
  }

  private release(task: WorkerTask): void {
    this.tasks.delete(task.executionId);
    task.release();
  }
}

const idsOf = ({ runId, executionId }: ExecutionRef) => ({ run_id: runId, execution_id: executionId });
