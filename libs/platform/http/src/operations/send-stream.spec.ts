import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { Response } from 'express';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sendStream } from './send-stream.js';

let server: Server;
beforeEach(async () => {
  server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  vi.useRealTimers();
  server.close();
});

async function request(): Promise<{ readonly client: IncomingMessage; readonly response: Response }> {
  const served = once(server, 'request');
  const answered = once(get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }), 'response');
  const [, response] = (await served) as [IncomingMessage, ServerResponse];
  response.flushHeaders();
  const [client] = (await answered) as [IncomingMessage];
  return { client, response: response as Response };
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
  const sent = sendStream(body, response, 100);
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
  const sent = sendStream(body, response, 100);
  await once(client, 'readable');
  const broken = once(client, 'error');
  await sent;
  clearInterval(sending);
  expect(body.destroyed).toBe(true);
  client.resume();
  await broken;
});

it('serves a client that takes longer than the limit for one large part, but reads', async () => {
  const { client, response } = await request();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const size = 32 * 1_048_576;
  const sent = sendStream(Readable.from([Buffer.alloc(size)]), response, 100);
  let received = 0;
  for await (const chunk of client as AsyncIterable<Buffer>) {
    received += chunk.length;
    vi.advanceTimersByTime(1);
  }
  await sent;
  expect(received).toBe(size);
});

it('waits for a body that is slow', async () => {
  const { client, response } = await request();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const body = new Readable({ read: () => undefined });
  const sent = sendStream(body, response, 100);
  body.push('first part');
  await once(client, 'data');
  vi.advanceTimersByTime(1_000);
  body.push('last part');
  body.push(null);
  const rest = await client.toArray();
  await sent;
  expect(Buffer.concat(rest as Buffer[]).toString()).toBe('last part');
});
