import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorCode } from '#platform/kernel';
import { ProblemError } from '../problems/problem-error.js';
import { rawProblem } from '../problems/raw-problem.js';

const REASONS: Readonly<Record<string, readonly [code: ErrorCode, detail: string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The request headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
};
const INVALID = ['invalid_request', 'The request is not valid HTTP.'] as const;

/**
 * Requests that Node rejects before it creates a request object (invalid bytes, headers that are too large, a request that
 * never ends) are answered on the socket with a problem document as well. `hidesTrace` omits `instance` and `trace_id`.
 */
export function answerRawClientErrors(server: Server, publicUrl: () => string, hidesTrace = false): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const [code, detail] = REASONS[error.code ?? ''] ?? INVALID;
    const traceId = randomBytes(16).toString('hex');
    const place = { publicUrl: publicUrl(), instance: '', traceId };
    socket.end(rawProblem(new ProblemError(code, detail), place, hidesTrace));
  });
}
