import type { HostLog } from '#execution/backends';
import type { BeatAnswer, Hello, HelloAnswer, ServerFrame, TaskAssignmentData } from '#execution/worker-protocol';
import type { WorkerFault } from './worker-fault.js';
import { Connection } from './connection.js';
import type { WorkerMetrics } from './metrics.js';
import type { WorkerOptions } from './options/read-worker-options.js';
import { IdleRunnerMonitor, hasRunEnded } from './run-state.js';
import { Tasks, type TasksParts } from './tasks.js';

export type WorkerDescription = Pick<Hello['data'], 'version' | 'harnesses' | 'skills'>;

export interface WorkerParts extends Omit<TasksParts, 'send' | 'changed'> {
  /** Names this daemon to the server, over reconnects and restarts. */
  readonly instanceId: string;
  readonly describe: () => Promise<WorkerDescription>;
}

export interface WorkerEnd {
  /** The server permanently rejects this worker. */
  readonly fault: WorkerFault | null;
  /** With `oneShot`: the task that was executed, and its runner's exit code. */
  readonly task: { readonly taskId: string; readonly exitCode: number } | null;
}

/** A server that does not answer hello only knows the published protocol, which is used then. */
const HELLO_TIMEOUT_MS = 5_000;
/** How often the remains of earlier executions are looked for. */
const CLEANUP_INTERVAL_MS = 60_000;
/** Time for the server to acknowledge the last ends. */
const ACKNOWLEDGEMENT_TIMEOUT_MS = 15_000;

/** The daemon: a worker whose transport is a WebSocket. */
export class WorkerDaemon {
  readonly tasks: Tasks;
  private readonly connection: Connection;
  private readonly heartbeats: HeartbeatTimer;
  private readonly idleRunners: IdleRunnerMonitor;
  private readonly log: HostLog;
  private readonly options: WorkerOptions;
  private readonly metrics: WorkerMetrics;
  private readonly isOver = new AbortController();
  isConnected = false;
  private isDraining = false;
  private isStopping = false;
  /** Tasks of an earlier process are known, so it is clear whether there is something to wait for. */
  private isRestored = false;
  /** The server knows the running tasks, so ends can be reported. */
  private isReconciled = false;
  private speaksHello = false;
  private helloTimer: NodeJS.Timeout | undefined;
  private result: WorkerEnd['task'] = null;
  private fault: WorkerFault | null = null;

  constructor(private readonly parts: WorkerParts) {
    this.options = parts.options;
    this.metrics = parts.metrics;
    this.log = parts.log;
    this.metrics.slots.set(this.options.slots);
    this.heartbeats = new HeartbeatTimer(() => void this.beat());
    this.idleRunners = new IdleRunnerMonitor(
      () => this.tasks.live,
      { hasRunEnded: (taskId) => hasRunEnded(this.options, taskId), isRejected: () => this.fault !== null },
      this.log,
    );
    this.connection = new Connection(
      this.options,
      {
        opened: () => void this.onOpened(),
        frame: (frame) => this.onFrame(frame),
        confirmed: (mark) => this.tasks.confirmed(mark),
        closed: () => this.onClosed(),
      },
      this.log,
    );
    this.tasks = new Tasks({
      ...parts,
      send: (frame) => this.connection.send(frame),
      changed: (ended) => this.onChanged(ended),
    });
  }

  /** Runs until {@link drain} or {@link stop} is complete, or the server permanently rejects this worker. */
  async run(): Promise<WorkerEnd> {
    const over = new Promise<void>((resolve) =>
      this.isOver.signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    await this.tasks.restore();
    const cleanup = this.options.cleanup
      ? setInterval(() => void this.tasks.removeLeftovers(), CLEANUP_INTERVAL_MS).unref()
      : undefined;
    this.isRestored = true;
    this.updateMetrics();
    if (this.options.oneShot) this.idleRunners.start();
    const connected = this.connection.run().then((fault) => {
      if (fault === null) return;
      this.fault = fault;
      this.log.error(fault.message);
      // Running tasks have separate tokens and continue; the worker waits for them.
      this.drain();
      this.endWhenDone();
    });
    // The stop may have been requested before this method was called.
    if (this.isStopping) this.stop();
    this.endWhenDone();
    await over;
    this.heartbeats.stop();
    this.idleRunners.stop();
    clearTimeout(this.helloTimer);
    clearInterval(cleanup);
    this.connection.stop();
    await connected;
    return { fault: this.fault, task: this.result };
  }

  /** Accepts no more tasks and ends after the last one; after the deadline tasks are stopped. */
  drain(): void {
    if (this.isDraining) return;
    this.isDraining = true;
    this.metrics.draining.set(1);
    this.log.info('draining', { tasks: this.tasks.live.length, deadline_ms: this.options.drainTimeout });
    setTimeout(() => this.stop(), this.options.drainTimeout).unref();
    this.idleRunners.start();
    this.heartbeats.soon();
    this.endWhenDone();
  }

  stop(): void {
    this.isStopping = true;
    this.drain();
    const { live } = this.tasks;
    if (live.length > 0) this.log.warn('stopping tasks', { tasks: live.length });
    for (const task of live) task.requestStop('drain');
    const timeoutMs = 2_000 * this.options.limits.cancel_step_seconds + 10_000;
    setTimeout(() => {
      for (const task of this.tasks.live) task.signal('SIGKILL');
    }, timeoutMs).unref();
  }

  private async onOpened(): Promise<void> {
    this.isConnected = true;
    this.isReconciled = false;
    this.speaksHello = false;
    this.metrics.connected.set(1);
    this.tasks.markUnconfirmed();
    const { options } = this;
    const self = await this.parts.describe();
    const data: Hello['data'] = {
      protocol: 1,
      instance_id: this.parts.instanceId,
      ...self,
      backend: this.parts.backend.name,
      slots: options.slots,
      features: ['drain'],
      labels: { ...options.labels },
      tasks: this.tasks.all,
    };
    this.log.info('connected', { worker_id: options.workerId, slots: options.slots, tasks: data.tasks.length });
    await this.connection.send({ type: 'hello', data });
    clearTimeout(this.helloTimer);
    this.helloTimer = setTimeout(() => this.reconciled(), HELLO_TIMEOUT_MS).unref();
  }

  private onFrame(frame: ServerFrame): void {
    switch (frame.type) {
      case 'task_assignment':
        void this.onAssignment(frame.data);
        return;
      case 'task_cancellation':
        return this.tasks.requestStop({ taskId: frame.data.task_id }, 'stop');
      case 'hello':
        return this.onHello(frame.data);
      case 'beat':
        return this.onBeat(frame.data);
    }
  }

  private async onAssignment(assignment: TaskAssignmentData): Promise<void> {
    const isUsedUp = this.options.oneShot && (this.result !== null || this.tasks.live.length > 0);
    const rejection = this.isDraining ? 'draining' : isUsedUp ? 'this worker executes one task only' : null;
    await this.tasks.assign(assignment, rejection);
  }

  private onHello({ tasks, next_beat_seconds: seconds }: HelloAnswer['data']): void {
    this.speaksHello = true;
    for (const { execution_id: executionId, verdict } of tasks) {
      if (verdict === 'stop') this.stopOrForget(executionId);
      if (verdict === 'unknown') this.tasks.forget(executionId);
    }
    this.heartbeats.every(seconds);
    if (this.isDraining) this.heartbeats.soon();
    this.reconciled();
  }

  private onBeat({ tasks, next_beat_seconds: seconds }: BeatAnswer['data']): void {
    this.heartbeats.every(seconds);
    for (const { execution_id: executionId, desired } of tasks) {
      if (desired === 'stop' || desired === 'kill') this.tasks.requestStop({ executionId }, desired);
      if (desired === 'lost') this.tasks.forget(executionId);
    }
  }

  private stopOrForget(executionId: string): void {
    if (this.tasks.live.some((task) => task.executionId === executionId))
      this.tasks.requestStop({ executionId }, 'stop');
    else this.tasks.forget(executionId);
  }

  private reconciled(): void {
    clearTimeout(this.helloTimer);
    this.isReconciled = true;
    void this.reportEnds();
  }

  private onClosed(): void {
    if (this.isConnected) this.log.warn('disconnected');
    this.isConnected = false;
    this.isReconciled = false;
    this.metrics.connected.set(0);
    this.metrics.disconnected.inc();
    this.heartbeats.stop();
    clearTimeout(this.helloTimer);
  }

  private onChanged(ended: WorkerEnd['task']): void {
    this.updateMetrics();
    if (ended !== null) {
      if (this.options.oneShot && this.result === null) {
        this.result = ended;
        this.drain();
      }
      void this.reportEnds();
    }
    this.endWhenDone();
  }

  private async reportEnds(): Promise<void> {
    if (!this.isReconciled) return;
    await this.tasks.reportEnds(() => this.connection.mark());
    this.heartbeats.soon();
  }

  private async beat(): Promise<void> {
    if (!this.isConnected || !this.speaksHello) return;
    const { tasks, isDraining } = this;
    const free = isDraining ? 0 : tasks.freeSlots;
    await this.connection.send({
      type: 'beat',
      data: { draining: isDraining, free_slots: free, tasks: tasks.liveRefs },
    });
  }

  private updateMetrics(): void {
    this.metrics.active.set(this.tasks.live.length);
    this.metrics.unacknowledged.set(this.tasks.unacknowledged);
  }

  /** Ends that cannot be reported stay in the journal. */
  private endWhenDone(): void {
    if (!this.isRestored || !this.isDraining || this.tasks.live.length > 0 || this.isOver.signal.aborted) return;
    if (this.tasks.unacknowledged === 0 || this.fault !== null) return this.isOver.abort();
    setTimeout(() => this.isOver.abort(), ACKNOWLEDGEMENT_TIMEOUT_MS).unref();
  }
}

const SOON_MS = 50;

/** Calls `beat` periodically, ± 20 % so that workers do not synchronize, and soon after a change. */
export class HeartbeatTimer {
  private seconds = 0;
  private timer: NodeJS.Timeout | undefined;
  private soonTimer: NodeJS.Timeout | undefined;

  constructor(private readonly beat: () => void) {}

  every(seconds: number): void {
    this.seconds = seconds;
    this.arm();
  }

  /** Several changes within a moment cause one heartbeat. */
  soon(): void {
    if (this.seconds === 0) return;
    this.soonTimer ??= setTimeout(() => {
      this.soonTimer = undefined;
      this.beat();
      this.arm();
    }, SOON_MS);
  }

  stop(): void {
    this.seconds = 0;
    clearTimeout(this.timer);
    clearTimeout(this.soonTimer);
    this.soonTimer = undefined;
  }

  private arm(): void {
    clearTimeout(this.timer);
    if (this.seconds === 0) return;
    const waitMs = this.seconds * 1000 * (0.8 + Math.random() * 0.4);
    this.timer = setTimeout(() => {
      this.beat();
      this.arm();
    }, waitMs);
  }
}
