import type { Response } from 'express';
import { ERROR_CODES, type ErrorCode } from '#libs/kernel';

/**
 * The ingress's error bodies: problem documents without `instance` and `trace_id`, so that answers to one question are
 * the same bytes whatever the reason, and a webhook's path, which may be its credential, is never echoed.
 */
export function sendProblem(response: Response, publicUrl: string, code: ErrorCode, detail: string): void {
  const { status, title, retryable } = ERROR_CODES[code];
  const document = {
    type: `${publicUrl}/problems/${code}`,
    title,
    status,
    detail,
    error_code: code,
    retryable,
    error: `${title}: ${detail}`,
  };
  response.status(status ?? 500).set('Content-Type', 'application/problem+json');
  response.end(JSON.stringify(document));
}
