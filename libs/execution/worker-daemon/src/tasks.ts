import { type Backend, type BackendTask, type HostLog, type TaskEnd, type TaskHandle } from '#execution/backends';
import { type StopMode, Worker, type WorkerTask, type WorkerTransport } from '#execution/worker';
import { EXECUTION_ENV, type TaskAssignmentData, type TaskRef, type WorkerFrame } from '#execution/worker-protocol';
import type { Clock } from '#platform/kernel';
import { endFrame, exitCodeOfTask } from './end-frame.js';
import { handoverFor } from './handover.js';
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
  /** An execution has begun or has ended, or the server has acknowledged an end. */
  readonly changed: (ended: { readonly taskId: string; readonly exitCode: number } | null) => void;
}

/** An end that the server has not acknowledged. */
interface UnacknowledgedEnd extends TaskRef {
  readonly frame: WorkerFrame;
  /** Of the connection, after the frame was sent; null while it is to be sent. */
  mark: number | null;
}

/** The executions of this daemon, from their claim until the server has acknowledged their end. */
export class Tasks implements WorkerTransport {
  private readonly worker: Worker;
  private readonly ends = new Map<string, UnacknowledgedEnd>();

  constructor(private readonly parts: TasksParts) {
    this.worker = new Worker(parts.backend, this, parts.log);
  }

  get live(): WorkerTask[] {
    return this.worker.live;
  }

  get unacknowledged(): number {
    return this.ends.size;
  }

  get freeSlots(): number {
    return Math.max(0, this.parts.options.slots - this.live.length);
  }

  get all(): TaskRef[] {
    return [
      ...this.liveRefs,
      ...[...this.ends.values()].map(({ task_id, execution_id }) => ({ task_id, execution_id })),
    ];
  }

  get liveRefs(): TaskRef[] {
    return this.live.map(refOf);
  }

  async restore(): Promise<void> {
    const { journal, backend, log } = this.parts;
    for (const { task_id, execution_id, backend: name, handle } of journal.read()) {
      if (name === backend.name) await this.worker.reattach({ runId: task_id, executionId: execution_id }, handle);
      else log.warn('an execution of another backend is not restored', { task_id, execution_id, backend: name });
    }
  }

  /** Claims an assignment if a slot is free, and starts it. Never rejects. */
  async assign(assignment: TaskAssignmentData, rejection: string | null): Promise<void> {
    const { task_id: taskId, execution_id: executionId } = assignment;
    const { journal, log } = this.parts;
    const active = this.worker.find(executionId);
    if (active !== undefined || this.ends.has(executionId)) {
      log.info('a repeated assignment is ignored', { task_id: taskId, execution_id: executionId });
      // The first claim may have been lost with its connection.
      if (active?.isLive === true && active.runner !== null) await this.sendClaim(taskId);
      return;
    }
    const older = this.live.find(({ runId }) => runId === taskId);
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
    if ((assignment.additional_sidecars ?? []).length > 0)
      log.warn('sidecars are not supported and left out', { task_id: taskId, execution_id: executionId });
    await this.worker.execute({ runId: taskId, executionId }, this.backendTask(assignment));
    this.parts.changed(null);
  }

  async claim(task: WorkerTask): Promise<boolean> {
    if (!(await this.sendClaim(task.runId))) return false;
    this.parts.metrics.claimed.inc();
    this.parts.log.info('task claimed', { ...refOf(task) });
    return true;
  }

  started(task: WorkerTask, handle: TaskHandle): void {
    const { journal, backend, clock } = this.parts;
    journal.write({ ...refOf(task), started_at: clock.now().toISOString(), backend: backend.name, handle });
  }

  ended(task: WorkerTask, end: TaskEnd): void {
    const { metrics, log, changed } = this.parts;
    const frame = endFrame(task.runId, end, task.stopMode);
    const exitCode = exitCodeOfTask(end);
    metrics.ended(frame?.type === 'task_completed' ? 'completed' : frame === null ? 'lost' : 'failed');
    log[exitCode === 0 ? 'info' : 'warn']('task ended', {
      ...refOf(task),
      end: end.kind,
      exit_code: exitCode,
      reported: frame?.type ?? 'nothing',
      ...(end.kind === 'exited' ? {} : { problem: end.message }),
      ...(end.kind === 'vanished' ? { hint: end.hint } : {}),
    });
    if (frame === null) this.acknowledged(task.executionId);
    else this.ends.set(task.executionId, { ...refOf(task), frame, mark: null });
    changed({ taskId: task.runId, exitCode });
  }

  /** Removes what a crash has left of executions that no journal names. Never rejects. */
  async removeLeftovers(): Promise<void> {
    try {
      for (const found of await this.worker.unsupervised())
        if ((found.state === 'created' || found.state === 'stopped') && !this.ends.has(found.executionId))
          await this.worker.remove(found);
    } catch (error) {
      this.parts.log.warn('what earlier executions have left could not be listed', { error: String(error) });
    }
  }

  requestStop(by: { readonly taskId?: string; readonly executionId?: string }, stopMode: StopMode): void {
    for (const task of this.live) {
      if (task.runId !== by.taskId && task.executionId !== by.executionId) continue;
      if (task.requestStop(stopMode)) this.parts.log.info('task is stopping', { ...refOf(task), stop_mode: stopMode });
    }
  }

  /** The task no longer belongs to this worker: its end is neither reported nor kept. */
  forget(executionId: string): void {
    const task = this.worker.find(executionId);
    if (task?.isLive === true) task.requestStop('lost');
    else if (this.ends.has(executionId)) this.acknowledged(executionId);
  }

  /** Reports the unacknowledged ends. `mark` is called after all have been sent. */
  async reportEnds(mark: () => number): Promise<void> {
    const waiting = [...this.ends.values()].filter((end) => end.mark === null);
    for (const { frame } of waiting) if (!(await this.parts.send(frame))) return;
    if (waiting.length === 0) return;
    const marked = mark();
    for (const end of waiting) end.mark = marked;
  }

  /** With a new connection everything that was sent on the old one is unconfirmed. */
  markUnconfirmed(): void {
    for (const end of this.ends.values()) end.mark = null;
  }

  confirmed(mark: number): void {
    for (const end of this.ends.values())
      if (end.mark !== null && end.mark <= mark) this.acknowledged(end.execution_id);
  }

  private sendClaim(taskId: string): Promise<boolean> {
    return this.parts.send({
      type: 'task_claimed',
      data: { task_id: taskId, worker_id: this.parts.options.workerId },
    });
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

  private acknowledged(executionId: string): void {
    this.ends.delete(executionId);
    this.parts.journal.remove(executionId);
    this.parts.changed(null);
  }
}

const refOf = ({ runId, executionId }: WorkerTask): TaskRef => ({ task_id: runId, execution_id: executionId });
