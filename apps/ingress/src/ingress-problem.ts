import type { ServerResponse } from 'node:http';
import { ERROR_CODES, type ErrorCode } from '#libs/kernel';

/**
 * The ingress's error bodies: problem documents without `instance` and `trace_id`, so that answers to one question are
 * the same bytes whatever the reason, and a webhook's path, which may be its credential, is never echoed.
 */
export function writeProblem(
  response: ServerResponse,
  publicUrl: string,
  code: ErrorCode,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): void {
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
  response.writeHead(status ?? 500, { 'Content-Type': 'application/problem+json', ...headers });
  response.end(JSON.stringify(document));
}
