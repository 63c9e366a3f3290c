import type { ErrorCode } from '#platform/kernel';
import type { HandshakeAnswer } from '#domain/webhooks';

/** Why a request is rejected, as the metrics label it. Never sent to the sender. */
export const REJECTION_REASONS = [
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
export type RejectionReason = (typeof REJECTION_REASONS)[number];

/** The problem document of a rejected request. It never says which part of an authentication failed. */
export interface RejectionAnswer {
  readonly kind: 'rejected';
  readonly reason: RejectionReason;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type IngressAnswer =
  | RejectionAnswer
  | {
      readonly kind: 'recorded';
      readonly deliveryId: string;
      readonly outcome: 'accepted' | 'duplicate';
      /** Senders of forms show or reject what a response contains. Null: the delivery is no form. `response`: JSON, or empty. */
      readonly form: { readonly response: string } | null;
    }
  | { readonly kind: 'handshake'; readonly answer: HandshakeAnswer }
  /** The sender closed the connection before its request was complete. */
  | { readonly kind: 'disconnected' };

const answer = (
  reason: RejectionReason,
  code: ErrorCode,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): RejectionAnswer => ({ kind: 'rejected', reason, code, detail, headers });

const CLOSE = { Connection: 'close' };
const OVERLOADED = 'Too many deliveries are being received; retry later.';

export const NOT_POST = answer('not_post', 'method_not_allowed', 'Only POST is allowed.', { Allow: 'POST' });
export const TOO_MANY_HEADERS = answer(
  'headers_too_large',
  'headers_too_large',
  'The request has too many headers.',
  CLOSE,
);
export const UNKNOWN_WEBHOOK = answer('unknown_webhook', 'resource_not_found', 'Webhook not found.');
export const TOO_LARGE = answer('too_large', 'payload_too_large', 'The body must not exceed 262144 bytes.', CLOSE);
export const NOT_JSON = answer(
  'invalid_json',
  'invalid_request',
  'The body must be JSON in UTF-8, without a byte order mark.',
);
export const OVERLOAD = answer('busy', 'resource_unavailable', OVERLOADED, { 'Retry-After': '1' });
/** For a body that is not read to its end, because another sender needs its slot. */
export const BODY_INTERRUPTED = answer('busy', 'resource_unavailable', OVERLOADED, { 'Retry-After': '1', ...CLOSE });

export const unauthenticated = (challenge: string | null): RejectionAnswer =>
  answer(
    'unauthenticated',
    'authentication_required',
    'The delivery is not authenticated.',
    challenge === null ? {} : { 'WWW-Authenticate': challenge },
  );

export const rateLimited = (reason: 'auth_failures' | 'rate_limited', waitMs: number): RejectionAnswer =>
  answer(
    reason,
    'rate_limited',
    reason === 'rate_limited'
      ? 'The rate limit of this webhook is exceeded.'
      : 'Too many failed authentication attempts.',
    { 'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1000))) },
  );
