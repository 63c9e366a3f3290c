import { LearntCapacity } from '../domain/learnt-capacity.js';
import type { WorkerRef, WorkerReport } from '../domain/worker.js';
import type { PresenceRow, PresenceState } from '../persistence/presence.store.js';

/** The state of one connection while it is open. */
export class WorkerSession {
  report: WorkerReport | null = null;
  draining = false;
  /** Its process has reported that it ends. */
  isStopping = false;
  freeSlots: number | null = null;
  /** Whether frames may be sent to it by other libraries. */
  isUsable = false;
  /** Whether its row exists, so that runs may be offered to it. */
  announced = false;
  readonly capacity = new LearntCapacity();

  /**
   * `instance`: the API process that holds the socket. `seenAt`: of a monotonic clock, as all times of a session.
   * `awaitsHello`: it will send a hello frame, and nothing is offered to it before.
   */
  constructor(
    public ref: WorkerRef,
    private readonly instance: string,
    private readonly connectedAt: Date,
    public seenAt: number,
    private readonly awaitsHello: boolean,
  ) {}

  /** Whether its row may be written: after the hello frame, if it sends one. */
  get mayBeAnnounced(): boolean {
    return !this.awaitsHello || this.report !== null;
  }

  get id(): string {
    return this.ref.connectionId;
  }

  state(now: number): PresenceState {
    return {
      id: this.id,
      silentMs: Math.max(0, now - this.seenAt),
      freeSlots: this.freeSlots,
      draining: this.draining,
      knownSlots: this.capacity.slots,
      pausedMs: this.capacity.pausedMs(now),
    };
  }

  row(now: number): PresenceRow {
    const { teamUid, workerHost, accountUid } = this.ref;
    const { instance, connectedAt } = this;
    return { ...this.state(now), teamUid, workerHost, accountUid, instance, connectedAt, report: this.report };
  }
}
