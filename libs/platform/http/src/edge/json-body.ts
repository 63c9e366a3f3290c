import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { Request } from 'express';
import { MemoryPermits } from '../operations/response-limit.js';
import { ProblemError } from '../problems/problem-error.js';
import { DEFAULT_BODY_DEPTH, DEFAULT_BODY_LIMIT } from './route-options.js';
import { type JsonShape, locateJsonError, scanJson } from './json-scan.js';
import { requestStateOf } from './request-state.js';
import type { Route } from './route-table.js';

/** Limits the memory that parsing needs; no valid body of the allowed size comes near it. */
const MAX_JSON_VALUES = 250_000;
/** More than any output of an agent; it limits the recursion of later processing. */
const RUNNER_BODY_DEPTH = 512;

/** More need a permit, as bodies of requests and of responses. */
export const LARGE_BYTES = 262_144;
export const LARGE_BODIES = 'large request bodies';

/** Anybody with a token can send them slowly. */
const largeBodies = new MemoryPermits(LARGE_BODIES, { total: 24, perKey: 4, maxWaiting: 240, maxWaitMs: 10_000 });

/**
 * Reads the body of a request that has been authenticated; null: its operation has none. Runners are authenticated later, and their
 * guard calls {@link readJsonBody}.
 */
export function readBodyBefore(request: Request): Promise<void> | null {
  const { route, context } = requestStateOf(request);
  // A body that no handler needs is not read: Node discards it after the response.
  if (route?.access?.kind === 'runner' || !takesBody(request, route)) return null;
  return isLargeBody(request) && context.principal !== undefined
    ? largeBodies.run(context.principal, () => readJsonBody(request))
    : readJsonBody(request);
}

/** Also one of unknown size. */
export const isLargeBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > LARGE_BYTES;

export const hasLargeJsonBody = (request: Request): boolean =>
  takesBody(request, requestStateOf(request).route) && isLargeBody(request);

const takesBody = (request: Request, route: Route | undefined): route is Route =>
  route?.takesBody === true && route.body.streamed !== true && hasBody(request);

/**
 * Reads the body as bytes, within the limit of the matched operation, and parses it as JSON. Without a body `request.body`
 * is undefined. Rejects with a ProblemError; everything but JSON in UTF-8 without a content encoding is one with 415.
 */
export async function readJsonBody(request: Request): Promise<void> {
  const { route } = requestStateOf(request);
  if (!takesBody(request, route)) return;
  const mediaProblem = mediaTypeProblem(request.headers);
  if (mediaProblem && request.headers['content-length'] !== undefined) throw mediaProblem;
  const bytes = await readBytes(request, route.body.limit ?? DEFAULT_BODY_LIMIT);
  if (bytes.length > 0 && mediaProblem) throw mediaProblem;
  request.body = bytes.length === 0 ? undefined : parse(bytes, limitsOf(route));
}

/** Reads a body that is too large to its end, so that the client receives the response. */
function readBytes(request: Request, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let received = 0;
    const add = (chunk: Buffer): void => {
      received += chunk.length;
      if (received <= limit) chunks.push(chunk);
      else chunks.length = 0;
    };
    const finish = (): void => {
      request.off('data', add).off('end', finish).off('close', interrupt).off('error', interrupt);
      if (received > limit) reject(new ProblemError('payload_too_large', `The body must not exceed ${limit} bytes.`));
      else resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, received));
    };
    const interrupt = (): void => reject(new ProblemError('invalid_request', 'The body ended before it was complete.'));
    if (request.readableAborted || request.destroyed) return interrupt();
    request.on('data', add).on('end', finish).on('close', interrupt).on('error', interrupt);
  });
}

const hasBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');

function mediaTypeProblem(headers: IncomingHttpHeaders): ProblemError | null {
  const { 'content-type': contentType = '', 'content-encoding': encoding } = headers;
  if (encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity')
    return new ProblemError('unsupported_media_type', 'Content-Encoding is not supported; send the body without one.');
  if (contentType === 'application/json') return null;
  const [mediaType = '', ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  if (!/^application\/(?:[\w.!#$&^-]+\+)?json$/.test(mediaType)) {
    return new ProblemError(
      'unsupported_media_type',
      `Send the body as \`Content-Type: application/json\`, not ${contentType ? 'with another type' : 'without it'}.`,
    );
  }
  const charset = parameters
    .find((part) => part.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '');
  return charset === undefined || charset === 'utf-8' || charset === 'utf8'
    ? null
    : new ProblemError('unsupported_media_type', 'JSON is UTF-8; no other charset is supported.');
}

/** Reports of runners are never rejected for their content: it is shortened after it was read. */
function limitsOf({ access, body }: Route): JsonShape {
  if (access?.kind === 'runner') return { depth: RUNNER_BODY_DEPTH, values: Number.POSITIVE_INFINITY };
  return { depth: body.maxDepth ?? DEFAULT_BODY_DEPTH, values: MAX_JSON_VALUES };
}

function parse(bytes: Buffer, limits: JsonShape): unknown {
  if (!isUtf8(bytes)) throw new ProblemError('invalid_request', 'The body is not valid UTF-8.');
  const shape = scanJson(bytes, limits);
  if (shape.depth > limits.depth)
    throw new ProblemError('invalid_request', `The body must not exceed ${limits.depth} levels of nesting.`);
  if (shape.values > limits.values)
    throw new ProblemError('payload_too_large', `The body must not exceed ${limits.values} values.`);
  const text = bytes.toString('utf8');
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const { line, column } = locateJsonError(text);
    throw new ProblemError('invalid_request', `The body is not valid JSON: see line ${line}, column ${column}.`, {
      cause,
    });
  }
}
