import { fields, number, text } from './fields.js';
import { describeWaiting, failureKind, type FailureKind, sessionFailureIn, vendorKind } from './model-failure.js';

/** The agent repeats a request to its model; nothing else tells that it is alive. */
export interface RetryNotice {
  readonly kind: FailureKind;
  readonly message: string;
  readonly detail?: string;
}

/** Of a `session/update`: a typed failure that the agent has not given up on. */
export function retryInUpdate(update: unknown): RetryNotice | null {
  const failure = sessionFailureIn(fields(update)['_meta']);
  if (failure === null || failure.severity === 'error' || failure.isAdvice) return null;
  const [, attempt, attempts] = /\b(\d+)(?:\/| of )(\d+)\b/.exec(failure.title) ?? [];
  const counted = attempt === undefined ? undefined : `attempt ${attempt} of ${attempts}`;
  return { kind: failure.kind, ...describeWaiting(failure.kind, counted === undefined ? failure.title : '', counted) };
}

/** Of a vendor's own notification: Claude Code's `api_retry`, which a session gets when it asks for it. */
export function retryInNotification(method: unknown, params: unknown): RetryNotice | null {
  if (method !== '_claude/sdkMessage') return null;
  const { subtype, attempt, max_retries: attempts, error_status: status, error } = fields(fields(params)['message']);
  if (subtype !== 'api_retry') return null;
  const known = number(status);
  const kind = vendorKind(error) ?? (known === undefined ? 'connection' : failureKind(text(error) ?? '', known));
  return { kind, ...describeWaiting(kind, '', `attempt ${String(attempt)} of ${String(attempts)}`) };
}
