/** The labels of the delivery log, word for word as callers see them. */
export const DELIVERY_OUTCOMES = [
  'Accepted',
  'Duplicate',
  'Rejected (auth)',
  'Rejected (invalid JSON)',
  'Rejected (too large)',
] as const;
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number];

/** As stored: one letter each. A sender's handshake is in the log without a label. */
export const OUTCOME_CODES = {
  Accepted: 'A',
  Duplicate: 'D',
  'Rejected (auth)': 'U',
  'Rejected (invalid JSON)': 'J',
  'Rejected (too large)': 'L',
} as const satisfies Record<DeliveryOutcome, string>;
export const HANDSHAKE_CODE = 'H';
export type OutcomeCode = (typeof OUTCOME_CODES)[DeliveryOutcome] | typeof HANDSHAKE_CODE;

/** Where a delivery's identity comes from, in order of preference. Kinds never collide. */
export const IDENTITY_KINDS = [
  /** The header that the webhook names. */
  'webhook_header',
  /** The scheme's own delivery header. */
  'scheme_header',
  /** `X-Headrace-Delivery-Id`. */
  'service_header',
  /** Where the scheme's body carries the id. */
  'scheme_body',
  /** SHA-256 of the body. */
  'body_hash',
  /** Made here: a stored delivery that is evaluated once more. */
  'redelivery',
] as const;
export type IdentityKind = (typeof IDENTITY_KINDS)[number];

export interface DeliveryIdentity {
  readonly kind: IdentityKind;
  /** As sent, or hexadecimal SHA-256 where it was too long or is of the body. At most 255 characters. */
  readonly value: string;
}

/** What an automation made of a delivery; written by the automations room through the webhooks room's port. */
export interface AutomationResult {
  readonly automationUid: string;
  readonly matched: boolean;
  readonly runId?: string;
  readonly reason: string;
}

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
