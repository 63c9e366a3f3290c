export interface SentCreate {
  readonly tag: string;
  /** With one it is repeated until it is answered. */
  readonly idempotencyKey: string | null;
  runId: string | null;
}

export interface SentFollowup {
  readonly tag: string;
  readonly runId: string;
  accepted: boolean;
}

export interface SentDelivery {
  readonly webhookUid: string;
  readonly automationIds: readonly string[];
  deliveryId: string | null;
}

export interface SentSchedule {
  readonly id: string;
  /** When pausing it was first asked for, and when that was answered. */
  pausedBetween: readonly [number, number] | null;
}

/** What the load has sent, and what it was answered. */
export class Ledger {
  readonly creates: SentCreate[] = [];
  readonly followups: SentFollowup[] = [];
  readonly deliveries: SentDelivery[] = [];
  readonly schedules: SentSchedule[] = [];
  /** Runs whose cancellation was accepted, or may have been. */
  readonly cancelled = new Set<string>();
  /** What is neither documented nor explained. */
  readonly wrongAnswers: string[] = [];
  readonly answers: Record<string, number> = {};

  /** One answer, or none, to an operation. */
  count(operation: string, status: number | 'none'): void {
    const key = `${operation} ${status}`;
    this.answers[key] = (this.answers[key] ?? 0) + 1;
  }
}
