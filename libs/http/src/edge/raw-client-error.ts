import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorCode } from '#libs/kernel';
import { toProblemDocument } from '../problems/problem.dto.js';
import { ProblemError } from '../problems/problem-error.js';

const REASONS: Readonly<Record<string, readonly [code: ErrorCode, phrase: string, detail: string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'Request Header Fields Too Large', 'The request headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'Request Timeout', 'The request did not arrive in time.'],
};
const GARBAGE = ['invalid_request', 'Bad Request', 'This is not an HTTP request that we understand.'] as const;

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
    const [code, phrase, detail] = REASONS[error.code ?? ''] ?? GARBAGE;
    const problem = new ProblemError(code, detail);
    const traceId = randomBytes(16).toString('hex');
    const document = toProblemDocument(problem, { publicUrl: publicUrl(), instance: '', traceId });
    const body = JSON.stringify(hidesTrace ? { ...document, instance: undefined, trace_id: undefined } : document);
    socket.end(
      [
        `HTTP/1.1 ${problem.status} ${phrase}`,
        'Content-Type: application/problem+json',
        `Content-Length: ${Buffer.byteLength(body)}`,
        ...(hidesTrace ? [] : [`X-Trace-Id: ${traceId}`]),
        'Connection: close',
        '',
        body,
      ].join('\r\n'),
    );
  });
}
