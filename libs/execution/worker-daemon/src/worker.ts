import type { HostLog } from '#execution/runner-host';
import type { BeatAnswer, Hello, HelloAnswer, ServerFrame, TaskAssignmentData } from '#execution/worker-protocol';
import { BeatTimer } from './beat-timer.js';
import type { WorkerFault } from './backend.js';
import { Connection } from './connection.js';
import type { WorkerMetrics } from './metrics.js';
import type { WorkerOptions } from './options/read-worker-options.js';
import { RestWatch } from './rest-watch.js';
import { isAtRest } from './run-outcome.js';
import { Tasks, type TasksParts } from './tasks.js';

/** What a worker says of itself on each connection. */
export type SelfDescription = Pick<Hello['data'], 'version' | 'harnesses' | 'skills'>;

export interface WorkerParts extends Omit<TasksParts, 'send' | 'changed'> {
  /** Names this daemon to the server, over reconnects and restarts. */
  readonly instanceId: string;
  /** Asked for each hello. */
  readonly describe: () => Promise<SelfDescription>;
}

/** How the daemon came to its end. */
export interface WorkerEnd {
  /** The server will never take this worker. */
  readonly fault: WorkerFault | null;
  /** With `oneShot`: the task that was executed, and its runner's exit code. */
  readonly task: { readonly taskId: string; readonly exitCode: number } | null;
}

/** A server that does not answer hello does not know it; the published protocol is spoken with it then. */
const HELLO_ANSWER_MS = 5_000;
/** How long the server may take to acknowledge the last ends. */
const FAREWELL_MS = 15_000;

/** The daemon: takes tasks from the server while there is room, and looks after what runs. */
export class Worker {
  readonly tasks: Tasks;
  private readonly connection: Connection;
  private readonly beats: BeatTimer;
  private readonly restWatch: RestWatch;
  private readonly log: HostLog;
  private readonly options: WorkerOptions;
  private readonly metrics: WorkerMetrics;
  private readonly isOver = new AbortController();
  private isConnected_ = false;
  private isDraining = false;
  private isStopping = false;
  /** What ran before is known: whether anything is left to wait for can be told. */
  private isRestored = false;
  /** The server has been told what runs here: ends may be told too. */
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
    this.beats = new BeatTimer(() => void this.beat());
    this.restWatch = new RestWatch(
      () => this.tasks.live,
      { isAtRest: (taskId) => isAtRest(this.options, taskId), isRefused: () => this.fault !== null },
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

  get isConnected(): boolean {
    return this.isConnected_;
  }

  /** Works until {@link drain} or {@link stop} has come to its end, or the server refuses this worker for good. */
  async run(): Promise<WorkerEnd> {
    const over = new Promise<void>((resolve) =>
      this.isOver.signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    await this.tasks.restore();
    this.isRestored = true;
    this.watch();
    if (this.options.oneShot) this.restWatch.start();
    const connected = this.connection.run().then((fault) => {
      if (fault === null) return;
      this.fault = fault;
      this.log.error(fault.message);
      // What runs has tokens of its own and goes on; the worker waits for it.
      this.drain();
      this.leaveWhenDone();
    });
    // It may have been told to while it was about to begin.
    if (this.isStopping) this.stop();
    this.leaveWhenDone();
    await over;
    this.beats.stop();
    this.restWatch.stop();
    clearTimeout(this.helloTimer);
    this.connection.stop();
    await connected;
    return { fault: this.fault, task: this.result };
  }

  /** Takes no more tasks and ends when the last one has; after the deadline they are stopped. */
  drain(): void {
    if (this.isDraining) return;
    this.isDraining = true;
    this.metrics.draining.set(1);
    this.log.info('draining', { tasks: this.tasks.live.length, deadline_ms: this.options.drainTimeout });
    setTimeout(() => this.stop(), this.options.drainTimeout).unref();
    this.restWatch.start();
    this.beats.soon();
    this.leaveWhenDone();
  }

  /** Stops what runs: it ends with infrastructure_timeout. */
  stop(): void {
    this.isStopping = true;
    this.drain();
    const { live } = this.tasks;
    if (live.length > 0) this.log.warn('tasks are stopped', { tasks: live.length });
    for (const task of live) task.ask('drain');
    const patienceMs = 2_000 * this.options.limits.cancel_step_seconds + 10_000;
    setTimeout(() => {
      for (const task of this.tasks.live) task.signal('SIGKILL');
    }, patienceMs).unref();
  }

  private async onOpened(): Promise<void> {
    this.isConnected_ = true;
    this.isReconciled = false;
    this.speaksHello = false;
    this.metrics.connected.set(1);
    this.tasks.doubt();
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
    this.helloTimer = setTimeout(() => this.reconciled(), HELLO_ANSWER_MS).unref();
  }

  private onFrame(frame: ServerFrame): void {
    switch (frame.type) {
      case 'task_assignment':
        void this.onAssignment(frame.data);
        return;
      case 'task_cancellation':
        return this.tasks.ask({ taskId: frame.data.task_id }, 'stop');
      case 'hello':
        return this.onHello(frame.data);
      case 'beat':
        return this.onBeat(frame.data);
    }
  }

  private async onAssignment(assignment: TaskAssignmentData): Promise<void> {
    const isTaken = this.options.oneShot && (this.result !== null || this.tasks.live.length > 0);
    const refusal = this.isDraining ? 'draining' : isTaken ? 'this worker takes one task only' : null;
    await this.tasks.assign(assignment, refusal);
    this.watch();
  }

  private onHello({ tasks, next_beat_seconds: seconds }: HelloAnswer['data']): void {
    this.speaksHello = true;
    for (const { execution_id: executionId, verdict } of tasks) {
      if (verdict === 'stop') this.stopOrForget(executionId);
      if (verdict === 'unknown') this.tasks.forget(executionId);
    }
    this.beats.every(seconds);
    if (this.isDraining) this.beats.soon();
    this.reconciled();
  }

  private onBeat({ tasks, next_beat_seconds: seconds }: BeatAnswer['data']): void {
    this.beats.every(seconds);
    for (const { execution_id: executionId, desired } of tasks) {
      if (desired === 'stop' || desired === 'kill') this.tasks.ask({ executionId }, desired);
      if (desired === 'lost') this.tasks.forget(executionId);
    }
  }

  private stopOrForget(executionId: string): void {
    if (this.tasks.live.some((task) => task.executionId === executionId)) this.tasks.ask({ executionId }, 'stop');
    else this.tasks.forget(executionId);
  }

  private reconciled(): void {
    clearTimeout(this.helloTimer);
    this.isReconciled = true;
    void this.tell();
  }

  private onClosed(): void {
    if (this.isConnected_) this.log.warn('disconnected');
    this.isConnected_ = false;
    this.isReconciled = false;
    this.metrics.connected.set(0);
    this.metrics.disconnected.inc();
    this.beats.stop();
    clearTimeout(this.helloTimer);
  }

  private onChanged(ended: WorkerEnd['task']): void {
    this.watch();
    if (ended !== null) {
      if (this.options.oneShot && this.result === null) {
        this.result = ended;
        this.drain();
      }
      void this.tell();
    }
    this.leaveWhenDone();
  }

  private async tell(): Promise<void> {
    if (!this.isReconciled) return;
    await this.tasks.tell(() => this.connection.mark());
    this.beats.soon();
  }

  private async beat(): Promise<void> {
    if (!this.isConnected_ || !this.speaksHello) return;
    const { tasks, isDraining } = this;
    const free = isDraining ? 0 : tasks.freeSlots;
    await this.connection.send({
      type: 'beat',
      data: { draining: isDraining, free_slots: free, tasks: tasks.liveRefs },
    });
  }

  private watch(): void {
    this.metrics.active.set(this.tasks.live.length);
    this.metrics.unacknowledged.set(this.tasks.untold.length);
  }

  /** The last ends stay in the journal when the server cannot be told. */
  private leaveWhenDone(): void {
    if (!this.isRestored || !this.isDraining || this.tasks.live.length > 0 || this.isOver.signal.aborted) return;
    if (this.tasks.untold.length === 0 || this.fault !== null) return this.isOver.abort();
    setTimeout(() => this.isOver.abort(), FAREWELL_MS).unref();
  }
}
