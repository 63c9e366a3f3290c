import type { Request, Response } from 'express';
import { hasPermit, ResponseLimit } from '../operations/response-limit.js';
import { addHeaders, hasOwnHeaders } from './edge-response.js';
import { LARGE_BYTES } from './json-body.js';
import { requestStateOf } from './request-state.js';

const MAX_BYTES_PER_CHARACTER = 3;
const NO_CONTENT = 204;

/** What a client has not read of them is in memory. Those that wait are in memory, too: few, and for a short time. */
const largeResponses = new ResponseLimit('large responses', {
  total: 32,
  perKey: 4,
  maxWaiting: 16,
  maxWaitMs: 2_000,
  maxSendMs: 10 * 60_000,
});

/**
 * Sends the result of a handler as JSON. A large one of a GET request needs a permit of its caller, unless the operation has one
 * already. Others are sent without: what they have done is not undone, and they show one item. Rejects when no permit is free in time.
 */
export function sendJson(response: Response, body: object): void | Promise<void> {
  const { req: request } = response;
  const text = JSON.stringify(body);
  if (request.method === 'GET' && isLarge(text) && !hasPermit(response)) return sendWithPermit(request, response, text);
  send(response, text);
}

/** In one write. `response.send` looks up settings and the freshness of a response that has no validator. */
function send(response: Response, text: string): void {
  if (response.statusCode === NO_CONTENT) {
    response.end();
    return;
  }
  addHeaders(response, ['Content-Type', 'application/json; charset=utf-8']);
  const length = String(Buffer.byteLength(text));
  // Also in place of another one, with which the next response of the connection would begin at a wrong place.
  if (hasOwnHeaders(response)) response.setHeader('Content-Length', length);
  else addHeaders(response, ['Content-Length', length]);
  response.end(text);
}

/** Most texts are so short that their bytes need not be counted. */
const isLarge = (text: string): boolean =>
  text.length * MAX_BYTES_PER_CHARACTER > LARGE_BYTES && Buffer.byteLength(text) > LARGE_BYTES;

async function sendWithPermit(request: Request, response: Response, text: string): Promise<void> {
  const { context, findOwner } = requestStateOf(request);
  const key = context.principal ?? (await findOwner?.()) ?? '';
  await largeResponses.run(key, response, () => Promise.resolve(send(response, text)));
}
