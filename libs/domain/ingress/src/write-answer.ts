import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '@nestjs/common';
import { ERROR_CODES, type ErrorCode } from '#platform/kernel';
import { isDatabaseUnavailable, QUERY_CANCELED, sqlState } from '#platform/persistence';
import type { IngressAnswer } from './ingress-answer.js';
import { declaredBytes } from './read-body.js';

/** An unread body is discarded up to this size, so that its sender receives the response. */
const MAX_DRAINED_BYTES = 1_048_576;
const MAX_DRAIN_MS = 1_000;
/** With an unread body up to this size the connection is kept. */
const SMALL_BYTES = 65_536;

/**
 * Problem documents without `instance` and `trace_id`: unknown, disabled and deleted webhooks get the same bytes, and the
 * path of a webhook, which may contain its credential, is never echoed.
 */
export function writeProblem(
  response: ServerResponse,
  publicUrl: string,
  code: ErrorCode,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const key = `${publicUrl} ${code} ${detail}`;
  const body = documents.get(key) ?? JSON.stringify(toDocument(publicUrl, code, detail));
  documents.set(key, body);
  send(response, ERROR_CODES[code].status ?? 500, 'application/problem+json', body, headers);
}

/** About a dozen documents, since details never contain anything that was sent. */
const documents = new Map<string, string>();

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

export function writeAnswer(response: ServerResponse, publicUrl: string, answer: IngressAnswer): void {
  switch (answer.kind) {
    case 'disconnected':
      response.destroy();
      return;
    case 'rejected':
      writeProblem(response, publicUrl, answer.code, answer.detail, answer.headers);
      return;
    case 'recorded':
      if (answer.form)
        send(response, 200, answer.form.response === '' ? null : 'application/json', answer.form.response);
      else send(response, 202, 'application/json', JSON.stringify({ delivery_id: answer.deliveryId }));
      return;
    case 'handshake': {
      const { status, headers = {}, body = '', contentType } = answer.answer;
      send(response, status, contentType ?? null, body, headers);
    }
  }
}

/** Answers a fault of ours, which the sender may retry, and logs it. Returns its metric label. */
export function writeFault(
  response: ServerResponse,
  publicUrl: string,
  logger: Logger,
  error: unknown,
): 'unavailable' | 'fault' {
  const isUnavailable = isDatabaseUnavailable(error) || sqlState(error) === QUERY_CANCELED;
  if (response.headersSent) {
    response.destroy();
  } else if (isUnavailable) {
    writeProblem(response, publicUrl, 'resource_unavailable', 'The database is temporarily unavailable.', {
      'Retry-After': '1',
    });
  } else {
    logger.error(error instanceof Error ? error : String(error));
    writeProblem(response, publicUrl, 'internal_error', 'The request could not be processed.');
  }
  return isUnavailable ? 'unavailable' : 'fault';
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
  // A socket that is closed with unread bytes is reset, and the sender may lose the response.
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
  // A sender that disconnects within its body has been answered; Node would report a parse error.
  const leave = (): void => socket.destroySoon();
  const timer = setTimeout(finish, MAX_DRAIN_MS);
  request.on('data', count).on('end', finish).on('close', finish);
  socket.prependListener('end', leave);
  request.resume();
}
