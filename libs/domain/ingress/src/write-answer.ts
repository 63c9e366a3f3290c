import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERROR_CODES, type ErrorCode } from '#platform/kernel';
import type { DeliveryAnswer } from './ingress-answer.js';
import { declaredBytes } from './read-body.js';

/** A body that nobody wants is read away up to here, so that its sender gets to see the answer. */
const MAX_DRAINED_BYTES = 1_048_576;
const MAX_DRAIN_MS = 1_000;
/** Unread bodies up to this size do not cost the connection. */
const SMALL_BYTES = 65_536;

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
  const key = `${publicUrl} ${code} ${detail}`;
  const body = written.get(key) ?? JSON.stringify(toDocument(publicUrl, code, detail));
  written.set(key, body);
  send(response, ERROR_CODES[code].status ?? 500, 'application/problem+json', body, headers);
}

/** There are a dozen of them, and floods get the same one again and again. Details never hold what was sent. */
const written = new Map<string, string>();

function toDocument(publicUrl: string, code: ErrorCode, detail: string): object {
  const { status, title, retryable } = ERROR_CODES[code];
  return {
    type: `${publicUrl}/problems/${code}`,
    title,
    status,
    detail,
    error_code: code,
    retryable,
    error: `${title}: ${detail}`,
  };
}

export function writeAnswer(response: ServerResponse, publicUrl: string, answer: DeliveryAnswer): void {
  switch (answer.kind) {
    case 'gone':
      response.destroy();
      return;
    case 'refused':
      writeProblem(response, publicUrl, answer.code, answer.detail, answer.headers);
      return;
    case 'taken':
      send(response, 202, 'application/json', JSON.stringify({ delivery_id: answer.deliveryId }));
      return;
    case 'handshake': {
      const { status, headers = {}, body = '', contentType } = answer.answer;
      send(response, status, contentType ?? null, body, headers);
    }
  }
}

function send(
  response: ServerResponse,
  status: number,
  contentType: string | null,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const { req: request } = response;
  const isUnread = !request.readableEnded && (declaredBytes(request) ?? Infinity) > SMALL_BYTES;
  response.writeHead(status, {
    ...(contentType === null ? {} : { 'Content-Type': contentType }),
    ...(status === 204 ? {} : { 'Content-Length': Buffer.byteLength(body) }),
    'X-Content-Type-Options': 'nosniff',
    ...headers,
    ...(isUnread ? { Connection: 'close' } : {}),
  });
  if (!isUnread || request.method === 'HEAD') {
    response.end(body);
    return;
  }
  // A socket that is closed with unread bytes in it is reset, and the sender may lose the answer.
  response.write(body);
  drain(request, () => response.end());
}

function drain(request: IncomingMessage, done: () => void): void {
  const { socket } = request;
  let bytes = 0;
  const finish = (): void => {
    clearTimeout(timer);
    request.off('data', count).off('end', finish).off('close', finish);
    socket.off('end', leave);
    request.pause();
    done();
  };
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > MAX_DRAINED_BYTES) finish();
  };
  // A sender that leaves in the middle of its body has its answer: for Node it would be one who talks nonsense.
  const leave = (): void => socket.destroySoon();
  const timer = setTimeout(finish, MAX_DRAIN_MS);
  request.on('data', count).on('end', finish).on('close', finish);
  socket.prependListener('end', leave);
  request.resume();
}
