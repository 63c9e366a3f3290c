import type { AutomationResult, DeliveryOutcome } from './delivery.js';

export interface DeliveryEvaluation {
  /** In lists of deliveries not all of many. */
  readonly results: readonly AutomationResult[];
  readonly resultCount: number;
  /** Why it was given up; then there are no results. */
  readonly error: string | null;
}

/** A line of a webhook's delivery log. */
export interface LoggedDelivery {
  readonly id: string;
  /** Null for a sender's handshake. */
  readonly outcome: DeliveryOutcome | null;
  /** Null where it was rejected before there was one. */
  readonly identity: string | null;
  /** The accepted delivery of the same identity. */
  readonly duplicateOf: string | null;
  /** The delivery that this one repeats. */
  readonly redeliveryOf: string | null;
  /** How many rejections the line stands for. */
  readonly occurrences: number;
  readonly sizeBytes: number;
  readonly receivedAt: Date;
  /** Of a redelivery: where the repeated one came from. */
  readonly sourceIp: string;
  readonly headers: Readonly<Record<string, string>> | null;
  /** Null until it is evaluated; what is not accepted never is. */
  readonly evaluation: DeliveryEvaluation | null;
}
