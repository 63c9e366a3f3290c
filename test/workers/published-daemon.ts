import { type Frame, ScriptedWorker } from '../support/scripted-worker.js';
import type { InstallationWithWorkers } from './installation-with-workers.js';

/** How long the daemon still claims assignments after SIGTERM, which it kills without a report. */
const STOPPING_MS = 500;

/**
 * A scripted worker that answers as the published daemon with its direct backend does: no hello, no slots in any message; it
 * claims what it has a slot for and rejects the rest, keeps results that it could not send, and knows nothing after a
 * restart.
 */
export class PublishedDaemon {
  /** Assignments that came in, by run, in their order. */
  readonly assigned: string[] = [];
  readonly rejected: string[] = [];
  readonly cancelled: string[] = [];
  /** Frames in their order, such as `task_assignment <run>`. */
  readonly log: string[] = [];
  private readonly tasks = new Set<string>();
  private readonly unsent: { type: string; data: object }[] = [];
  private readonly killed: string[] = [];
  private isStopping = false;
  private worker: ScriptedWorker | null = null;

  constructor(
    private readonly installation: InstallationWithWorkers,
    readonly host: string,
    private readonly slots = 1,
  ) {}

  static async start(installation: InstallationWithWorkers, host: string, slots = 1): Promise<PublishedDaemon> {
    const daemon = new PublishedDaemon(installation, host, slots);
    await daemon.connect();
    return daemon;
  }

  get executing(): readonly string[] {
    return [...this.tasks];
  }

  get connection(): ScriptedWorker {
    if (this.worker === null) throw new Error(`The daemon ${this.host} has no connection.`);
    return this.worker;
  }

  /** The first connection, or the next one after a break; results that could not be sent are sent then. */
  async connect(url?: string): Promise<void> {
    this.worker = await this.installation.worker(this.host, url === undefined ? {} : { url });
    this.worker.listen((frame) => this.take(frame));
    for (const { type, data } of this.unsent.splice(0)) this.worker.send(type, data);
  }

  /** The connection breaks; what it executes continues. */
  async loseConnection(): Promise<void> {
    await this.connection.cut();
    this.worker = null;
  }

  /** `kill -9`: it forgets everything. */
  async kill(): Promise<void> {
    await this.loseConnection();
    this.tasks.clear();
  }

  complete(runId: string): void {
    if (!this.tasks.delete(runId)) throw new Error(`${this.host} does not execute ${runId}.`);
    this.report('task_completed', { task_id: runId, message: 'Task completed successfully' });
  }

  /** The processes of cancelled tasks have ended, which it reports. */
  reportCancelled(): void {
    for (const runId of this.killed.splice(0))
      this.report('task_completed', {
        task_id: runId,
        message: 'Task cancelled by user request.',
        task_state: 'CANCELLED',
      });
  }

  /** SIGTERM: kills and reports its tasks, claims for half a second more, and closes with 1000. */
  async terminate(): Promise<void> {
    for (const runId of this.tasks)
      this.report('task_failed', {
        task_id: runId,
        message: 'Task was cancelled',
        failure_reason: 'graceful_shutdown',
        exit_code: 143,
      });
    this.tasks.clear();
    this.isStopping = true;
    await new Promise((resolve) => setTimeout(resolve, STOPPING_MS));
    await this.connection.close();
    this.worker = null;
  }

  private take({ type, data }: Frame): void {
    const runId = data.task_id as string;
    this.log.push(`${type} ${runId}`);
    if (type === 'task_assignment') this.assign(runId);
    if (type === 'task_cancellation') this.cancel(runId);
  }

  private assign(runId: string): void {
    this.assigned.push(runId);
    if (this.tasks.size >= this.slots) {
      this.rejected.push(runId);
      this.report('task_rejected', { task_id: runId, reason: 'worker at maximum concurrency' });
      return;
    }
    this.report('task_claimed', { task_id: runId, worker_id: this.host });
    if (!this.isStopping) this.tasks.add(runId);
  }

  private cancel(runId: string): void {
    this.cancelled.push(runId);
    if (this.tasks.delete(runId)) this.killed.push(runId);
  }

  private report(type: string, data: object): void {
    if (this.worker === null) this.unsent.push({ type, data });
    else this.worker.send(type, data);
  }
}
