import { STATUS_CODES } from 'node:http';
import { type ProblemPlace, toProblemDocument } from './problem.dto.js';
import type { ProblemError } from './problem-error.js';

/**
 * A complete HTTP response with a problem document, to be written to a socket that is closed afterwards. `hidesTrace` omits
 * `instance` and `trace_id`.
 */
export function rawProblem(problem: ProblemError, place: ProblemPlace, hidesTrace = false): string {
  const document = toProblemDocument(problem, place);
  const body = JSON.stringify(hidesTrace ? { ...document, instance: undefined, trace_id: undefined } : document);
  const { headers = {}, retryAfterSeconds } = problem.options;
  return [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? 'Error'}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(retryAfterSeconds === undefined ? [] : [`Retry-After: ${Math.max(1, Math.ceil(retryAfterSeconds))}`]),
    ...(problem.status === 401 ? ['WWW-Authenticate: Bearer'] : []),
    ...(hidesTrace ? [] : [`X-Trace-Id: ${place.traceId}`]),
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
