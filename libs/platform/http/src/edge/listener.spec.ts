import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseSettings } from '#platform/config';
import { Listener, type ListenerOptions } from './listener.js';

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

let listener: Listener;
let socket: Socket;
let text = '';
/** Responses of executed requests. */
let executed: ServerResponse[] = [];
/** Requests that Node.js has read. */
let read = 0;
let onExecuted = (): void => undefined;

async function listen(options: Pick<ListenerOptions, 'stalledMs'> = {}): Promise<void> {
  const settings = parseSettings({ DATABASE_URL: 'postgresql://127.0.0.1/none' });
  listener = await Listener.open(settings, { host: '127.0.0.1', port: 0, usesTls: false, ...options });
  listener.serve((_request: IncomingMessage, response: ServerResponse) => {
    executed.push(response);
    onExecuted();
  });
}
beforeEach(async () => {
  [executed, read, text] = [[], 0, ''];
  await listen();
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

it('executes the next request of a connection when the body of the one before was read in part', async () => {
  const size = 1_000_000;
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${size}\r\n\r\n`);
  socket.write(Buffer.alloc(size));
  const first = await response(1);
  for await (const _chunk of first.req.iterator({ destroyOnReturn: false })) break;
  first.end('too large');
  while (!text.includes('too large')) await once(socket, 'data');
  socket.write(REQUEST);
  (await response(2)).end('second');
  while (!text.includes('second')) await once(socket, 'data');
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

describe('a client that reads nothing of a response', () => {
  const BYTES = 128 * 1_048_576;
  const STALLED_MS = 60_000;
  const CHECK_MS = STALLED_MS / 6;
  const sockets: Socket[] = [];
  beforeEach(async () => {
    await listener.close(0);
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    await listen({ stalledMs: STALLED_MS });
  });
  afterEach(() => {
    vi.useRealTimers();
    for (const one of sockets.splice(0)) one.destroy();
  });

  async function ask(number: number) {
    const client = connect(listener.port, '127.0.0.1').on('error', () => undefined);
    sockets.push(client.pause());
    client.write(REQUEST);
    return { client, response: await response(number) };
  }
  /** Until the system takes no more of it. */
  async function fill(one: ServerResponse): Promise<void> {
    one.end(Buffer.alloc(BYTES));
    for (let before = -1, queued = queueOf(one); queued !== before || queued === BYTES;) {
      await new Promise((resolve) => setImmediate(resolve));
      [before, queued] = [queued, queueOf(one)];
    }
  }
  const queueOf = ({ socket: sending }: ServerResponse): number =>
    (sending as unknown as { _handle: { writeQueueSize: number } })._handle.writeQueueSize;

  it('is disconnected, also when it sends bytes', async () => {
    const { client: silent, response: first } = await ask(1);
    const { client: sending, response: second } = await ask(2);
    await Promise.all([fill(first), fill(second)]);
    const closed = Promise.all([once(first, 'close'), once(second, 'close')]);
    for (let time = 0; time < 7; time += 1) {
      expect([first.destroyed, second.destroyed]).toEqual([false, false]);
      const received = once(second.req.socket, 'data');
      sending.write('\r\n');
      await received;
      vi.advanceTimersByTime(CHECK_MS);
    }
    await closed;
    let length = 0;
    silent.on('data', (bytes) => (length += bytes.length)).resume();
    await once(silent, 'close');
    expect(length).toBeLessThan(BYTES);
  });

  it('is not disconnected while there is nothing to send, or while it reads slowly', async () => {
    const { client: waiting, response: stream } = await ask(1);
    stream.flushHeaders();
    const { client: slow, response: large } = await ask(2);
    await fill(large);
    let [received, checks] = [0, 0];
    slow.on('data', (bytes) => {
      received += bytes.length;
      // More than the system keeps for the client during the limit.
      if (received >= (checks + 1) * 4 * 1_048_576) {
        vi.advanceTimersByTime(CHECK_MS);
        checks += 1;
      }
    });
    slow.resume();
    while (received < BYTES) await once(slow, 'data');
    expect(checks).toBeGreaterThan(12);
    let text = '';
    waiting.on('data', (bytes) => (text += String(bytes))).resume();
    stream.end('last');
    while (!text.includes('last')) await once(waiting, 'data');
  });
});

/** The number of executed requests, with one of another connection. */
async function fetchExecuted(): Promise<number> {
  const before = executed.length;
  const other = fetch(listener.url);
  (await response(before + 1)).end();
  await other;
  return executed.length;
}
