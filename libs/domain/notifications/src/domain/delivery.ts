export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'dropped'] as const;
/** `failed`: given up. `dropped`: the webhook was disabled before it could be sent. */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** One attempt, as it is logged. */
export interface AttemptRecord {
  /** RFC 3339: when it ended. */
  readonly at: string;
  readonly duration_ms: number;
  readonly response_status?: number;
  /** The first KB. */
  readonly response_body?: string;
  /** Why there was no answer. */
  readonly error?: string;
}

export interface Delivery {
  readonly id: string;
  /** The same over all attempts. */
  readonly messageId: string;
  readonly runId: string | null;
  readonly type: string;
  readonly status: DeliveryStatus;
  /** Those begun; one that a crash cut off is in no log. */
  readonly attempts: number;
  /** Oldest first. */
  readonly log: readonly AttemptRecord[];
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

/** A message that somebody has taken to send it now. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly messageId: string;
  /** Which attempt this is, from 1 on; whoever takes the message later has a higher number. */
  readonly attempt: number;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  readonly webhookUid: string;
  readonly url: string;
  readonly enabled: boolean;
  /** Sealed; the newest first. */
  readonly secrets: readonly string[];
}

/** What goes over the wire. */
export const messageOf = ({ type, createdAt, data }: Pick<ClaimedDelivery, 'type' | 'createdAt' | 'data'>): string =>
  JSON.stringify({ type, timestamp: createdAt.toISOString(), data });
