/** The labels of the delivery log, exactly as callers see them, with the letter that is stored. A handshake has no label. */
export const OUTCOME_CODES = {
  Accepted: 'A',
  Duplicate: 'D',
  'Rejected (auth)': 'U',
  'Rejected (invalid JSON)': 'J',
  'Rejected (too large)': 'L',
} as const;
export type DeliveryOutcome = keyof typeof OUTCOME_CODES;
export const DELIVERY_OUTCOMES = Object.keys(OUTCOME_CODES) as DeliveryOutcome[];
export type OutcomeCode = (typeof OUTCOME_CODES)[DeliveryOutcome] | 'H';

/**
 * Where a delivery's identity comes from, in order of preference: the header that the webhook names, the delivery header
 * of the scheme, `X-Headrace-Delivery-Id`, the place in the body where the scheme carries the id, the SHA-256 of the body.
 * Kinds never collide. Redeliveries and test deliveries have generated identities.
 */
export type IdentityKind =
  | 'webhook_header'
  | 'scheme_header'
  | 'service_header'
  | 'scheme_body'
  | 'body_hash'
  | 'redelivery'
  | 'test';

export interface DeliveryIdentity {
  readonly kind: IdentityKind;
  /** As sent, or a hexadecimal SHA-256 of the body or of a value that is too long. At most 255 characters. */
  readonly value: string;
}

export interface AutomationResult {
  readonly automationUid: string;
  readonly matched: boolean;
  readonly runId?: string;
  readonly reason: string;
}

/** The payload of a test delivery without one. */
export const TEST_PAYLOAD = { event: 'test', message: 'This is a test delivery of Headrace.' } as const;

/** An {@link AutomationResult} as it is stored and sent. */
export interface StoredResult {
  automation_uid: string;
  matched: boolean;
  run_id?: string;
  reason: string;
}

export interface LoggedDelivery {
  readonly id: string;
  /** Null for a sender's handshake. */
  readonly outcome: DeliveryOutcome | null;
  /** Null when the delivery was rejected before its identity was known. */
  readonly identity: string | null;
  readonly duplicateOf: string | null;
  readonly redeliveryOf: string | null;
  /** Whether a user has sent it through the API. */
  readonly isTest: boolean;
  /** The number of rejections that the line counts. */
  readonly occurrences: number;
  readonly sizeBytes: number;
  readonly receivedAt: Date;
  /** For a redelivery, that of the original delivery. */
  readonly sourceIp: string;
  readonly headers: Record<string, string> | null;
  /** Null until it is evaluated; only accepted deliveries are. */
  readonly evaluation: {
    /** A list of deliveries contains only a part of many results. */
    readonly results: StoredResult[];
    readonly resultCount: number;
    /** Why the evaluation was abandoned; then there are no results. */
    readonly error: string | null;
  } | null;
}
