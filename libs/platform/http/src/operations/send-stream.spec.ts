import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Response } from 'express';
import { afterEach, expect, it, vi } from 'vitest';
import { parseSettings } from '#platform/config';
import { Listener } from '../edge/listener.js';
import { sendStream } from './send-stream.js';

const STALLED_MS = 100;

let listener: Listener;
/** The response of the next request. */
let served: Promise<Response>;
async function listen(): Promise<void> {
  const settings = parseSettings({ DATABASE_URL: 'postgresql://127.0.0.1/none' });
  listener = await Listener.open(settings, { host: '127.0.0.1', port: 0, usesTls: false, stalledMs: STALLED_MS });
  served = new Promise((resolve) => listener.serve((_request, response) => resolve(response as Response)));
}
afterEach(async () => {
  vi.useRealTimers();
  await listener.close(0);
});

async function request(): Promise<{ readonly client: IncomingMessage; readonly response: Response }> {
  await listen();
  const answered = once(get({ port: listener.port, host: '127.0.0.1' }), 'response');
  const response = await served;
  response.flushHeaders();
  const [client] = (await answered) as [IncomingMessage];
  return { client, response };
}

it('resolves when the client disconnects before the body is complete', async () => {
  const { client, response } = await request();
  const body = new Readable({ read: () => undefined });
  const sent = sendStream(body, response);
  body.push('first part');
  await once(client, 'data');
  client.destroy();
  await sent;
  expect(body.destroyed).toBe(true);
});

it('rejects when the body cannot be read, and breaks the connection', async () => {
  const { client, response } = await request();
  const broken = once(client, 'error');
  const body = Readable.from(['first part']);
  body.destroy(new Error('The disk failed.'));
  await expect(sendStream(body, response)).rejects.toThrow('The disk failed.');
  client.resume();
  expect(await broken).toMatchObject([{ code: 'ECONNRESET' }]);
});

it('disconnects a client that reads nothing any more, and stops reading the body', async () => {
  const { client, response } = await request();
  const body = new Readable({ read: () => void body.push(Buffer.alloc(65_536)) });
  const sent = sendStream(body, response);
  await once(client, 'readable');
  const broken = once(client, 'error');
  await sent;
  expect(body.destroyed).toBe(true);
  client.resume();
  await broken;
});

it('disconnects a client that sends bytes, but reads nothing any more', async () => {
  const { client, response } = await request();
  const body = new Readable({ read: () => void body.push(Buffer.alloc(65_536)) });
  const sending = setInterval(() => client.socket.write('\r\n'), 10);
  const sent = sendStream(body, response);
  await once(client, 'readable');
  const broken = once(client, 'error');
  await sent;
  clearInterval(sending);
  expect(body.destroyed).toBe(true);
  client.resume();
  await broken;
});

it('serves a client that takes longer than the limit for one large part, but reads', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const { client, response } = await request();
  const size = 32 * 1_048_576;
  const sent = sendStream(Readable.from([Buffer.alloc(size)]), response);
  let received = 0;
  for await (const chunk of client as AsyncIterable<Buffer>) {
    received += chunk.length;
    vi.advanceTimersByTime(1);
  }
  await sent;
  expect(received).toBe(size);
});

it('waits for a body that is slow', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const { client, response } = await request();
  const body = new Readable({ read: () => undefined });
  const sent = sendStream(body, response);
  body.push('first part');
  await once(client, 'data');
  vi.advanceTimersByTime(1_000);
  body.push('last part');
  body.push(null);
  const rest = await client.toArray();
  await sent;
  expect(Buffer.concat(rest as Buffer[]).toString()).toBe('last part');
});
