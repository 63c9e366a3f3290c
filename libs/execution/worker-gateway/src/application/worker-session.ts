import { LearntCapacity } from '../domain/learnt-capacity.js';
import type { WorkerRef, WorkerReport } from '../domain/worker.js';
import type { PresenceRow, PresenceState } from '../persistence/presence.store.js';

interface SessionStart {
  readonly ref: WorkerRef;
  /** API process that holds the socket. */
  readonly instance: string;
  readonly connectedAt: Date;
  /** Of a clock that only goes forward, as all times of a session. */
  readonly now: number;
  /** It will say hello, and nothing is offered to it before. */
  readonly awaitsHello: boolean;
}

/** What is known of one connection while it lives. */
export class WorkerSession {
  ref: WorkerRef;
  report: WorkerReport | null = null;
  draining = false;
  /** Its process has said that it ends. */
  isStopping = false;
  freeSlots: number | null = null;
  /** Whether frames may be sent to it by other libraries. */
  isUsable = false;
  /** Whether runs may be offered to it: its row is there. */
  announced = false;
  seenAt: number;
  readonly capacity = new LearntCapacity();

  constructor(private readonly start: SessionStart) {
    this.ref = start.ref;
    this.seenAt = start.now;
  }

  /** Whether its row should be there by now. */
  get mayBeAnnounced(): boolean {
    return !this.start.awaitsHello || this.report !== null;
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
    const { instance, connectedAt } = this.start;
    return { ...this.state(now), teamUid, workerHost, accountUid, instance, connectedAt, report: this.report };
  }
}
