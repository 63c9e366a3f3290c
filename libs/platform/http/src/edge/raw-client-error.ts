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
const GARBAGE = ['invalid_request', 'This is not an HTTP request that we understand.'] as const;

/**
 * What Node refuses before there is a request (garbage, oversized headers, a request that never ends) is answered on
 * the bare socket, as a problem document too. `hidesTrace`: without `instance` and `trace_id`.
 */
export function answerRawClientErrors(server: Server, publicUrl: () => string, hidesTrace = false): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const [code, detail] = REASONS[error.code ?? ''] ?? GARBAGE;
    const traceId = randomBytes(16).toString('hex');
    const place = { publicUrl: publicUrl(), instance: '', traceId };
    socket.end(rawProblem(new ProblemError(code, detail), place, hidesTrace));
  });
}
