import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseSettings } from '#platform/config';
import { Listener } from './listener.js';

const STALLED_MS = 100;
/** More than the buffers between server and client. */
const LARGE = Buffer.alloc(32 * 1_048_576, 'x');
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

let listener: Listener;
const sockets: Socket[] = [];
beforeEach(async () => {
  const settings = parseSettings({ DATABASE_URL: 'postgresql://127.0.0.1/none' });
  listener = await Listener.open(settings, { host: '127.0.0.1', port: 0, usesTls: false, stalledMs: STALLED_MS });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await listener.close(0);
});

function open(): Socket {
  const socket = connect(listener.port, '127.0.0.1');
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

/** The next request that the server executes. */
const served = (): Promise<ServerResponse> =>
  new Promise((resolve) => listener.serve((_request: IncomingMessage, response: ServerResponse) => resolve(response)));

it('disconnects a client that reads nothing of a response any more', async () => {
  const next = served();
  const socket = open();
  socket.pause().write(REQUEST);
  const response = await next;
  response.end(LARGE);
  await once(response, 'close');
  let bytes = 0;
  socket.on('data', (part) => (bytes += part.length)).resume();
  await once(socket, 'close');
  expect(bytes).toBeLessThan(LARGE.length);
});

it('keeps the connection of a client that reads slowly', async () => {
  const next = served();
  const socket = open();
  socket.pause().write(REQUEST);
  const response = await next;
  response.end(LARGE);
  const finished = once(response, 'finish').then(() => true);
  const read = setInterval(() => socket.resume().once('data', () => socket.pause()), STALLED_MS / 20);
  await expect(finished).resolves.toBe(true);
  clearInterval(read);
});

it('waits for a response that is created slowly, longer than for a client', async () => {
  const next = served();
  const socket = open();
  const timeout = once(listener.server, 'timeout');
  socket.write(REQUEST);
  const response = await next;
  await timeout;
  expect(socket.destroyed).toBe(false);
  const received = once(socket, 'data');
  response.end('late');
  expect(String((await received)[0])).toContain('late');
});

it('closes a connection that sends no further request', async () => {
  listener.serve((_request, response) => void response.end('done'));
  listener.server.keepAliveTimeout = STALLED_MS;
  const socket = open();
  socket.resume().write(REQUEST);
  await once(socket, 'close');
});

it('executes the next request of a connection only after the response to the one before', async () => {
  const next = served();
  const socket = open();
  let text = '';
  socket.on('data', (bytes) => (text += String(bytes)));
  socket.write(REQUEST);
  const response = await next;
  const executed: unknown[] = [];
  listener.serve((request) => void executed.push(request.url));
  socket.write(REQUEST.repeat(3));
  // The server pauses the connection when it has read them.
  await once(response.socket as Socket, 'pause');
  response.end('first');
  await once(socket, 'close');
  expect(executed).toEqual([]);
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n[^]*first/);
});
