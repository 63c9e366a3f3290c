/** The labels of the delivery log, exactly as callers see them. */
export const DELIVERY_OUTCOMES = [
  'Accepted',
  'Duplicate',
  'Rejected (auth)',
  'Rejected (invalid JSON)',
  'Rejected (too large)',
] as const;
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number];

/** As stored: one letter each. A handshake is logged without a label. */
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
  /** Generated for a redelivery. */
  'redelivery',
] as const;
export type IdentityKind = (typeof IDENTITY_KINDS)[number];

export interface DeliveryIdentity {
  readonly kind: IdentityKind;
  /** As sent, or a hexadecimal SHA-256 of the body or of a value that is too long. At most 255 characters. */
  readonly value: string;
}

/** The result of an automation for a delivery, from a `DeliveryEvaluator`. */
export interface AutomationResult {
  readonly automationUid: string;
  readonly matched: boolean;
  readonly runId?: string;
  readonly reason: string;
}

export interface DeliveryEvaluation {
  /** A list of deliveries contains only a part of many results. */
  readonly results: readonly AutomationResult[];
  readonly resultCount: number;
  /** Why the evaluation was abandoned; then there are no results. */
  readonly error: string | null;
}

/** A line of a webhook's delivery log. */
export interface LoggedDelivery {
  readonly id: string;
  /** Null for a sender's handshake. */
  readonly outcome: DeliveryOutcome | null;
  /** Null when the delivery was rejected before its identity was known. */
  readonly identity: string | null;
  /** The accepted delivery of the same identity. */
  readonly duplicateOf: string | null;
  /** The delivery of which this one is a redelivery. */
  readonly redeliveryOf: string | null;
  /** The number of rejections that the line counts. */
  readonly occurrences: number;
  readonly sizeBytes: number;
  readonly receivedAt: Date;
  /** For a redelivery, that of the original delivery. */
  readonly sourceIp: string;
  readonly headers: Readonly<Record<string, string>> | null;
  /** Null until it is evaluated; only accepted deliveries are. */
  readonly evaluation: DeliveryEvaluation | null;
}
