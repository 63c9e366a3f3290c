import {
  type Backend,
  type BackendTask,
  failedStart,
  type HostLog,
  type RunningTask,
  StartFault,
  type TaskEnd,
} from '#execution/backends';
import { EXECUTION_ENV, type TaskAssignmentData, type TaskRef, type WorkerFrame } from '#execution/worker-protocol';
import type { Clock } from '#platform/kernel';
import { ActiveTask, handoverFor, type StopMode, endFrame, exitCodeOfTask } from './active-task.js';
import type { Journal } from './journal.js';
import type { WorkerMetrics } from './metrics.js';
import type { WorkerOptions } from './options/read-worker-options.js';

export interface TasksParts {
  readonly options: WorkerOptions;
  readonly backend: Backend;
  /** The value by which all processes of an execution are found. */
  readonly marker: (executionId: string) => string;
  readonly journal: Journal;
  readonly metrics: WorkerMetrics;
  readonly clock: Clock;
  readonly log: HostLog;
  /** Sends a frame. Resolves with whether it was handed to the network. */
  readonly send: (frame: WorkerFrame) => Promise<boolean>;
  /** An execution has ended, or the server has acknowledged an end. */
  readonly changed: (ended: { readonly taskId: string; readonly exitCode: number } | null) => void;
}

/** The executions of this worker, from their claim until the server has acknowledged their end. */
export class Tasks {
  private readonly tasks = new Map<string, ActiveTask>();

  constructor(private readonly parts: TasksParts) {}

  get live(): ActiveTask[] {
    return [...this.tasks.values()].filter(({ isLive }) => isLive);
  }

  /** Tasks whose end the server has not acknowledged. */
  get unacknowledged(): ActiveTask[] {
    return [...this.tasks.values()].filter(({ isLive }) => !isLive);
  }

  get freeSlots(): number {
    return Math.max(0, this.parts.options.slots - this.live.length);
  }

  get all(): TaskRef[] {
    return [...this.tasks.values()].map(refOf);
  }

  get liveRefs(): TaskRef[] {
    return this.live.map(refOf);
  }

  async restore(): Promise<void> {
    const { journal, backend, log } = this.parts;
    for (const entry of journal.read()) {
      const { task_id, execution_id } = entry;
      if (entry.backend !== backend.name) {
        const fields = { task_id, execution_id, backend: entry.backend };
        log.warn('an execution of another backend is not restored', fields);
        continue;
      }
      const task = new ActiveTask(task_id, execution_id);
      task.entry = entry;
      this.tasks.set(execution_id, task);
      const runner = await backend.reattach(execution_id, entry.handle).catch((error: unknown) => {
        log.error('an execution cannot be restored', { task_id, execution_id, error: String(error) });
        return null;
      });
      if (runner === null) {
        await backend.remove(execution_id, entry.handle).catch((error: unknown) => {
          const fields = { task_id, execution_id, error: String(error) };
          log.error('processes and files of an execution could not be removed', fields);
        });
        const message = 'The runner no longer existed when the worker restarted.';
        this.settle(task, { kind: 'vanished', reason: 'runner_vanished', message });
      } else {
        log.info('a runner is supervised again', { task_id, execution_id });
        this.follow(task, runner);
      }
    }
  }

  /** Claims an assignment if a slot is free, and starts it. Never rejects. */
  async assign(assignment: TaskAssignmentData, rejection: string | null): Promise<void> {
    const { task_id: taskId, execution_id: executionId } = assignment;
    const { journal, log, options, send } = this.parts;
    const ids = { task_id: taskId, execution_id: executionId };
    const active = this.tasks.get(executionId);
    const claim: WorkerFrame = { type: 'task_claimed', data: { task_id: taskId, worker_id: options.workerId } };
    if (active !== undefined) {
      log.info('a repeated assignment is ignored', ids);
      // The first claim may have been lost with its connection.
      if (active.isLive && active.runner !== null) await send(claim);
      return;
    }
    const older = this.live.find((task) => task.taskId === taskId);
    // The server has given up the older execution, otherwise it would not offer another.
    older?.requestStop('lost');
    const reason =
      older === undefined
        ? (rejection ?? this.problemOf(assignment))
        : 'An earlier execution of this task is still ending.';
    if (reason !== null || this.freeSlots === 0) return this.reject(assignment, reason ?? 'at capacity');
    // A claimed task would fail, so a worker with a full disk would fail every queued run.
    const code = journal.fault();
    if (code !== null) {
      log.error('the journal cannot be written: tasks are rejected', { error: code });
      return this.reject(assignment, `This worker cannot write its journal (${code}).`);
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

  /** Removes what a crash has left of executions that no journal names. Never rejects. */
  async removeLeftovers(): Promise<void> {
    const { backend, log } = this.parts;
    try {
      for (const { executionId, handle, state } of await backend.list())
        if ((state === 'created' || state === 'stopped') && !this.tasks.has(executionId))
          await backend.remove(executionId, handle);
    } catch (error) {
      log.warn('what earlier executions have left could not be removed', { error: String(error) });
    }
  }

  requestStop(by: { readonly taskId?: string; readonly executionId?: string }, stopMode: StopMode): void {
    for (const task of this.live) {
      if (task.taskId !== by.taskId && task.executionId !== by.executionId) continue;
      if (task.requestStop(stopMode)) this.parts.log.info('task is stopping', { ...refOf(task), stop_mode: stopMode });
    }
  }

  /** The task no longer belongs to this worker: its end is neither reported nor kept. */
  forget(executionId: string): void {
    const task = this.tasks.get(executionId);
    if (task?.isLive) task.requestStop('lost');
    else if (task) this.drop(task);
  }

  /** Reports the unacknowledged ends. `mark` is called after all have been sent. */
  async reportEnds(mark: () => number): Promise<void> {
    const waiting = this.unacknowledged.filter(({ end }) => end?.mark === null);
    for (const task of waiting) {
      if (task.end?.frame && !(await this.parts.send(task.end.frame))) return;
    }
    if (waiting.length === 0) return;
    const marked = mark();
    for (const { end } of waiting) if (end) end.mark = marked;
  }

  /** With a new connection everything that was sent on the old one is in markUnconfirmed. */
  markUnconfirmed(): void {
    for (const { end } of this.unacknowledged) if (end) end.mark = null;
  }

  confirmed(mark: number): void {
    for (const task of this.unacknowledged)
      if (task.end?.mark !== null && task.end !== null && task.end.mark <= mark) this.drop(task);
  }

  private problemOf({ execution_id: executionId, env_vars: variables }: TaskAssignmentData): string | null {
    if (!/^\d{1,19}$/.test(executionId)) return 'The execution has no numeric id.';
    return variables?.[EXECUTION_ENV.executionToken] ? null : 'The assignment has no token for its runner.';
  }

  private async reject({ task_id, execution_id }: TaskAssignmentData, reason: string): Promise<void> {
    this.parts.metrics.rejected.inc();
    this.parts.log.info('task rejected', { task_id, execution_id, reason });
    await this.parts.send({ type: 'task_rejected', data: { task_id, reason } });
  }

  private async start(task: ActiveTask, assignment: TaskAssignmentData): Promise<void> {
    const { backend, journal, clock, log } = this.parts;
    if ((assignment.additional_sidecars ?? []).length > 0)
      log.warn('sidecars are not supported and left out', { ...refOf(task) });
    let runner: RunningTask | null = null;
    try {
      runner = await backend.start(this.backendTask(assignment), task.startSignal);
      task.entry = {
        task_id: task.taskId,
        execution_id: task.executionId,
        started_at: clock.now().toISOString(),
        backend: backend.name,
        handle: runner.handle,
      };
      journal.write(task.entry);
      this.follow(task, runner);
      await runner.begin();
      const { pid, container } = runner.handle;
      log.info('runner started', { ...refOf(task), pid, container });
    } catch (error) {
      const hint = error instanceof StartFault ? error.hint : undefined;
      log.error('task could not be started', { ...refOf(task), error: String(error), hint });
      if (runner !== null && task.runner === runner) return runner.signal('SIGKILL');
      runner?.signal('SIGKILL');
      this.settle(task, failedStart(error));
    }
  }

  private backendTask(assignment: TaskAssignmentData): BackendTask {
    const { options, marker } = this.parts;
    const { execution_id: executionId } = assignment;
    return {
      executionId,
      image: () => Promise.resolve(assignment.docker_image ?? null),
      shape: assignment.instance_shape,
      handover: (place) => handoverFor(options, assignment, marker(executionId), place),
    };
  }

  private follow(task: ActiveTask, runner: RunningTask): void {
    task.attach(runner);
    void runner.ended.then((end) => this.settle(task, end));
  }

  private settle(task: ActiveTask, end: TaskEnd): void {
    const frame = endFrame(task.taskId, end, task.stopMode);
    const exitCode = exitCodeOfTask(end);
    this.parts.metrics.ended(frame?.type === 'task_completed' ? 'completed' : frame === null ? 'lost' : 'failed');
    const level = exitCode === 0 ? 'info' : 'warn';
    this.parts.log[level]('task ended', {
      ...refOf(task),
      end: end.kind,
      exit_code: exitCode,
      reported: frame?.type ?? 'nothing',
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
