import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseSettings } from '#platform/config';
import { Listener } from './listener.js';

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

let listener: Listener;
let socket: Socket;
let text = '';
/** Responses of executed requests. */
let executed: ServerResponse[] = [];
/** Requests that Node.js has read. */
let read = 0;
let onExecuted = (): void => undefined;

beforeEach(async () => {
  const settings = parseSettings({ DATABASE_URL: 'postgresql://127.0.0.1/none' });
  listener = await Listener.open(settings, { host: '127.0.0.1', port: 0, usesTls: false });
  [executed, read, text] = [[], 0, ''];
  listener.serve((_request: IncomingMessage, response: ServerResponse) => {
    executed.push(response);
    onExecuted();
  });
  listener.server.on('request', () => (read += 1));
  socket = connect(listener.port, '127.0.0.1');
  socket.on('error', () => undefined).on('data', (bytes) => (text += String(bytes)));
});
afterEach(async () => {
  socket.destroy();
  await listener.close(0);
});

/** The response of the executed request with this number, from 1. */
async function response(number: number): Promise<ServerResponse> {
  while (executed.length < number) await new Promise<void>((resolve) => (onExecuted = resolve));
  return executed[number - 1] as ServerResponse;
}

it('executes one further request of a connection when the response before has been sent', async () => {
  socket.write(REQUEST);
  const first = await response(1);
  socket.write(REQUEST);
  await once(listener.server, 'request');
  expect(executed).toHaveLength(1);
  first.end('first');
  (await response(2)).end('second');
  socket.write(REQUEST);
  (await response(3)).end('third');
  while (!text.includes('third')) await once(socket, 'data');
  expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
});

it('ends a connection with more requests after the response in progress, and reads no more of them', async () => {
  const requests = 200_000;
  socket.write(REQUEST);
  const first = await response(1);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(REQUEST.repeat(requests));
  while (read < 3) await once(listener.server, 'request');
  // The client cannot send all of it, and the server executes other requests meanwhile.
  const other = fetch(listener.url);
  (await response(2)).end('other');
  expect(await (await other).text()).toBe('other');
  expect(read).toBeLessThan(requests / 20);
  first.end('first');
  await closed;
  expect(executed).toHaveLength(2);
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n[^]*first/);
});

it('executes no request that waits when its client disconnects', async () => {
  socket.write(REQUEST + REQUEST);
  const first = await response(1);
  const closed = once(first, 'close');
  socket.destroy();
  await closed;
  expect(await fetchExecuted()).toBe(2);
});

it('does not execute a request behind one to which Node.js has responded by itself', async () => {
  socket.write(`GET / HTTP/1.1\r\n\r\n${REQUEST}`);
  await once(socket, 'close');
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  expect(await fetchExecuted()).toBe(1);
});

it('sends the response of a request that is followed by bytes which are not HTTP, and ends the connection', async () => {
  const closed = once(socket, 'close');
  const rejected = once(listener.server, 'clientError');
  socket.write(`${REQUEST}not HTTP\r\n\r\n`);
  const first = await response(1);
  await rejected;
  first.end('first');
  await closed;
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n[^]*first/);
  expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
});

it('rejects a running request whose own body is not HTTP', async () => {
  const closed = once(socket, 'close');
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnot HTTP\r\n\r\n');
  await closed;
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
});

it('executes no request behind one to which Node.js responds by itself while another one is executed', async () => {
  const closed = once(socket, 'close');
  socket.write(`${REQUEST}GET / HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n${REQUEST}`);
  (await response(1)).end('first');
  await closed;
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 417']);
  expect(await fetchExecuted()).toBe(2);
});

it('disconnects a client that reads nothing of a response, and waits for a handler that is slow', async () => {
  listener.server.timeout = 50;
  const [slow, unread] = [connect(listener.port, '127.0.0.1'), connect(listener.port, '127.0.0.1')];
  slow.write(REQUEST);
  const first = await response(1);
  unread.pause().write(REQUEST);
  const second = await response(2);
  const timedOut = once(first, 'timeout');
  second.end(Buffer.alloc(64 * 1_048_576));
  await Promise.all([timedOut, once(second, 'close')]);
  let received = 0;
  unread.on('data', ({ length }) => (received += length)).on('error', () => undefined);
  unread.resume();
  await once(unread, 'close');
  expect(received).toBeLessThan(64 * 1_048_576);
  first.end('slow');
  const [bytes] = (await once(slow, 'data')) as [Buffer];
  expect(String(bytes)).toMatch(/^HTTP\/1\.1 200 OK[^]*slow$/);
  slow.destroy();
});

/** The number of executed requests, with one of another connection. */
async function fetchExecuted(): Promise<number> {
  const before = executed.length;
  const other = fetch(listener.url);
  (await response(before + 1)).end();
  await other;
  return executed.length;
}
