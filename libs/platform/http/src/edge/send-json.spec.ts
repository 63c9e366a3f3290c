import { once } from 'node:events';
import { type IncomingMessage, request as send, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Request, type Response } from 'express';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { newContext } from '#platform/observability';
import { ResponseLimit } from '../operations/response-limit.js';
import { setRequestState } from './request-state.js';
import { sendJson } from './send-json.js';

/** More than the system keeps for a client that reads nothing: a receive buffer grows only while somebody reads. */
const UNREAD = { text: 'x'.repeat(16 * 1_048_576) };
const SMALL = { text: 'x' };

let server: Server;
let answer: (request: Request, response: Response) => void | Promise<void>;
const unread: IncomingMessage[] = [];
beforeEach(async () => {
  const app = express();
  app.use((request, response, next) => {
    setRequestState(request, { context: { ...newContext(), principal: 'ada' }, route: undefined, values: [] });
    Promise.resolve(answer(request, response)).catch(next);
  });
  app.use((_error: Error, _request: Request, response: Response, _next: unknown) => void response.status(503).end());
  server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  for (const message of unread.splice(0)) message.destroy();
  server.closeAllConnections();
  await once(server.close(), 'close');
});

/** The response, of which nothing is read but the headers. */
async function ask(method = 'GET'): Promise<IncomingMessage> {
  const { port } = server.address() as AddressInfo;
  const request = send({ port, host: '127.0.0.1', method, agent: false }).end();
  const [message] = (await once(request, 'response')) as [IncomingMessage];
  message.on('error', () => undefined);
  unread.push(message);
  return message;
}
const statusesOf = async (count: number, method?: string) =>
  (await Promise.all(Array.from({ length: count }, () => ask(method)))).map(({ statusCode }) => statusCode);

it('sends a small body without a permit, also while the caller has no permit left', async () => {
  answer = (_request, response) => sendJson(response, UNREAD);
  expect(await statusesOf(4)).toEqual([200, 200, 200, 200]);
  answer = (_request, response) => sendJson(response, SMALL);
  const message = await ask();
  expect(message.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(Buffer.concat((await message.toArray()) as Buffer[]).toString()).toBe(JSON.stringify(SMALL));
});

it('refuses a large body when four clients of the caller read theirs, and at once when two more wait', async () => {
  answer = (_request, response) => sendJson(response, UNREAD);
  await statusesOf(4);
  const waiting = [ask(), ask()];
  expect(await Promise.race([ask(), ...waiting])).toMatchObject({ statusCode: 503 });
  unread[0]?.destroy();
  expect((await Promise.race(waiting)).statusCode).toBe(200);
  expect((await Promise.all(waiting)).map(({ statusCode }) => statusCode).sort()).toEqual([200, 503]);
});

it('sends large results of requests that change something without a permit', async () => {
  answer = (_request, response) => sendJson(response, UNREAD);
  expect(await statusesOf(6, 'POST')).toEqual(Array(6).fill(200));
});

it('does not count responses twice that have a permit of their operation', async () => {
  const own = new ResponseLimit('files', { total: 8, perKey: 8, maxWaitMs: 0, maxSendMs: 60_000 });
  answer = (_request, response) => own.run('ada', response, async () => sendJson(response, UNREAD));
  expect(await statusesOf(8)).toEqual(Array(8).fill(200));
});

it('counts large responses to runners to the owner of their run', async () => {
  let found = 0;
  answer = (request, response) => {
    const findOwner = (): Promise<string> => Promise.resolve(`owner ${(found += 1) % 2}`);
    setRequestState(request, { context: newContext(), route: undefined, values: [], findOwner });
    return sendJson(response, UNREAD);
  };
  expect(await statusesOf(8)).toEqual(Array(8).fill(200));
  answer = (request, response) => {
    setRequestState(request, {
      context: newContext(),
      route: undefined,
      values: [],
      findOwner: () => Promise.resolve('owner 0'),
    });
    return sendJson(response, UNREAD);
  };
  expect((await ask()).statusCode).toBe(503);
});
