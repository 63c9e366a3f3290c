import { isUtf8 } from 'node:buffer';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { MemoryPermits } from '../operations/response-limit.js';
import { ProblemError } from '../problems/problem-error.js';
import { INCOMPLETE_BODY, toProblemError } from '../problems/to-problem-error.js';
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
export function readBodyBefore(request: Request, response: Response): Promise<void> | null {
  const { route, context } = requestStateOf(request);
  // A body that no handler needs is not read: Node discards it after the response.
  if (route?.access?.kind === 'runner' || !takesBody(request, route)) return null;
  return isLargeBody(request) && context.principal !== undefined
    ? largeBodies.run(context.principal, () => readJsonBody(request, response))
    : readJsonBody(request, response);
}

/** Also one of unknown size. */
export const isLargeBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > LARGE_BYTES;

export const hasLargeJsonBody = (request: Request): boolean =>
  takesBody(request, requestStateOf(request).route) && isLargeBody(request);

const takesBody = (request: Request, route: Route | undefined): route is Route =>
  route?.takesBody === true && route.body.streamed !== true && hasBody(request);

const readers = new Map<number, RequestHandler>();
function readerOf(limit: number): RequestHandler {
  const reader = readers.get(limit) ?? express.raw({ type: () => true, limit, inflate: false });
  readers.set(limit, reader);
  return reader;
}

/**
 * Reads the body as bytes, within the limit of the matched operation, and parses it as JSON. Without a body `request.body`
 * is undefined. Rejects with a ProblemError; everything but JSON in UTF-8 without a content encoding is one with 415.
 */
export async function readJsonBody(request: Request, response: Response): Promise<void> {
  const { route } = requestStateOf(request);
  if (!takesBody(request, route)) return;
  const mediaProblem = mediaTypeProblem(request.headers['content-type']);
  if (mediaProblem && request.headers['content-length'] !== undefined) throw mediaProblem;
  const reader = readerOf(route.body.limit ?? DEFAULT_BODY_LIMIT);
  await new Promise<void>((resolve, reject) => {
    // Converted here, because Nest replaces the error by a more general one before the filter receives it.
    reader(request, response, (error?: unknown) => (error === undefined ? resolve() : reject(toProblemError(error))));
  });
  const bytes: unknown = request.body;
  // body-parser reports no error when the client has closed the connection before it reads.
  if (!Buffer.isBuffer(bytes)) throw new ProblemError('invalid_request', INCOMPLETE_BODY);
  if (bytes.length > 0 && mediaProblem) throw mediaProblem;
  request.body = bytes.length === 0 ? undefined : parse(bytes, limitsOf(route));
}

const hasBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');

function mediaTypeProblem(contentType: string | undefined): ProblemError | null {
  const [mediaType = '', ...parameters] = (contentType ?? '')
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
