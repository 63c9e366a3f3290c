import { isUtf8 } from 'node:buffer';
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { ProblemError } from '../problems/problem-error.js';
import { toProblemError } from '../problems/to-problem-error.js';
import { DEFAULT_BODY_DEPTH, DEFAULT_BODY_LIMIT } from './body-options.js';
import { locateJsonError, scanJson } from './json-scan.js';
import { edgeStateOf } from './edge-state.js';

/** What JSON of this size could not reasonably hold; guards memory, not meaning. */
const MAX_JSON_VALUES = 250_000;

/**
 * Reads the body as bytes, within the limit of the matched operation, and parses it as JSON. No body leaves
 * `request.body` undefined. Anything but JSON in UTF-8 without a content encoding is a 415.
 */
export function jsonBody(): RequestHandler {
  const readers = new Map<number, RequestHandler>();
  const readerOf = (limit: number): RequestHandler => {
    const reader = readers.get(limit) ?? express.raw({ type: () => true, limit, inflate: false });
    readers.set(limit, reader);
    return reader;
  };
  return (request: Request, response: Response, next: NextFunction) => {
    const { route } = edgeStateOf(request);
    // Without a route there is nobody to read the body; it is answered 404 or 405 as it stands.
    if (!route || route.body.streamed || !hasBody(request)) {
      next();
      return;
    }
    const mediaProblem = refuseMediaType(request.headers['content-type']);
    if (mediaProblem && request.headers['content-length'] !== undefined) {
      next(mediaProblem);
      return;
    }
    readerOf(route.body.limit ?? DEFAULT_BODY_LIMIT)(request, response, (error?: unknown) => {
      if (error !== undefined) {
        // Here, while it still says what was wrong; on its way to the filter Nest makes something more general of it.
        next(toProblemError(error));
        return;
      }
      try {
        const bytes = request.body as Buffer;
        if (bytes.length > 0 && mediaProblem) throw mediaProblem;
        request.body = bytes.length === 0 ? undefined : parse(bytes, route.body.maxDepth ?? DEFAULT_BODY_DEPTH);
        next();
      } catch (problem) {
        next(problem);
      }
    });
  };
}

const hasBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');

function refuseMediaType(contentType: string | undefined): ProblemError | null {
  const [mediaType = '', ...parameters] = (contentType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  if (!/^application\/(?:[\w.!#$&^-]+\+)?json$/.test(mediaType)) {
    return new ProblemError(
      'unsupported_media_type',
      `Send the body as \`Content-Type: application/json\`, not ${contentType ? 'this type' : 'without one'}.`,
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

function parse(bytes: Buffer, maxDepth: number): unknown {
  if (!isUtf8(bytes)) throw new ProblemError('invalid_request', 'The body is not valid UTF-8.');
  const shape = scanJson(bytes, { depth: maxDepth, values: MAX_JSON_VALUES });
  if (shape.depth > maxDepth)
    throw new ProblemError('invalid_request', `The body nests deeper than ${maxDepth} levels.`);
  if (shape.values > MAX_JSON_VALUES)
    throw new ProblemError('payload_too_large', `The body has more than ${MAX_JSON_VALUES} values.`);
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
