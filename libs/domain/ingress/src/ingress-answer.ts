import type { ErrorCode } from '#platform/kernel';
import type { HandshakeAnswer } from '#domain/webhooks';

/** Why a request is refused, for our own counts. */
export const REFUSAL_REASONS = [
  'not_post',
  'headers_too_large',
  'unknown_webhook',
  'auth_failures',
  'busy',
  'too_large',
  'unauthenticated',
  'rate_limited',
  'invalid_json',
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** Why a request is not taken, and what its sender is told: never which part of an authentication failed. */
export interface Refusal {
  readonly kind: 'refused';
  /** Never told. */
  readonly reason: RefusalReason;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type DeliveryAnswer =
  | Refusal
  | { readonly kind: 'taken'; readonly deliveryId: string; readonly outcome: 'accepted' | 'duplicate' }
  | { readonly kind: 'handshake'; readonly answer: HandshakeAnswer }
  /** The sender went away before its request was complete. */
  | { readonly kind: 'gone' };

const refuse = (
  reason: RefusalReason,
  code: ErrorCode,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Refusal => ({ kind: 'refused', reason, code, detail, headers });

export const UNKNOWN_WEBHOOK = refuse('unknown_webhook', 'resource_not_found', 'There is no webhook at this address.');
export const NOT_POST = refuse('not_post', 'method_not_allowed', 'A webhook takes POST.', { Allow: 'POST' });
export const TOO_LARGE = refuse('too_large', 'payload_too_large', 'A delivery has at most 262144 bytes.', {
  Connection: 'close',
});
export const NOT_JSON = refuse(
  'invalid_json',
  'invalid_request',
  'The body must be JSON in UTF-8, without a byte order mark.',
);
export const TOO_MANY_HEADERS = refuse('headers_too_large', 'headers_too_large', 'The request has too many headers.', {
  Connection: 'close',
});
export const NO_ROOM = refuse('busy', 'resource_unavailable', 'Too many deliveries are arriving at the moment.', {
  'Retry-After': '1',
});

/** To a sender whose body is not read on: its slot has been given to another one. */
export const CUT_OFF = refuse('busy', 'resource_unavailable', 'Too many deliveries are arriving at the moment.', {
  'Retry-After': '1',
  Connection: 'close',
});

export const unauthenticated = (challenge: string | null): Refusal =>
  refuse(
    'unauthenticated',
    'authentication_required',
    'The delivery is not authenticated.',
    challenge === null ? {} : { 'WWW-Authenticate': challenge },
  );

export const slowDown = (reason: 'auth_failures' | 'rate_limited', detail: string, waitMs: number): Refusal =>
  refuse(reason, 'rate_limited', detail, { 'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1000))) });
