import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type HttpRequest, sendRequest } from './http-client.js';

let server: Server;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let connections: number;

beforeEach(async () => {
  connections = 0;
  server = createServer((request, response) => answer(request, response));
  server.on('connection', () => (connections += 1));
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const send = (fields: Partial<HttpRequest> = {}) =>
  sendRequest({
    method: 'POST',
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/a?b=1`),
    headers: { authorization: 'Bearer t' },
    timeoutMs: 10_000,
    signals: [],
    ...fields,
  });

describe('sendRequest', () => {
  it.each([
    ['text', 'Gr\u00fc\u00dfe', '7'],
    ['bytes', Buffer.from('bytes'), '5'],
    ['a stream', Readable.from([Buffer.from('a '), Buffer.from('stream')]), undefined],
    ['no body', undefined, '0'],
  ])('sends %s', async (_name, body, length) => {
    answer = (request, response) => {
      const { method, url, headers } = request;
      void buffer(request).then((bytes) => {
        response.statusCode = 201;
        response.end(
          JSON.stringify({
            method,
            url,
            length: headers['content-length'],
            auth: headers.authorization,
            text: String(bytes),
          }),
        );
      });
    };
    const { status, body: bytes } = await send({ body });
    const text = body instanceof Readable ? 'a stream' : String(body ?? '');
    expect([status, JSON.parse(String(bytes))]).toEqual([
      201,
      { method: 'POST', url: '/a?b=1', ...(length === undefined ? {} : { length }), auth: 'Bearer t', text },
    ]);
  });

  it('uses one connection for requests in sequence', async () => {
    answer = (_request, response) => response.end('ok');
    for (let request = 0; request < 3; request += 1) expect((await send()).status).toBe(200);
    expect(connections).toBe(1);
  });

  it('does not follow a redirect, which could send the token elsewhere', async () => {
    answer = (_request, response) => response.writeHead(302, { location: '/elsewhere' }).end();
    expect((await send()).status).toBe(302);
  });

  it('rejects after the timeout, before and during the response', async () => {
    answer = () => undefined;
    await expect(send({ timeoutMs: 20.5 })).rejects.toThrow('no response within 21 ms');
    answer = (_request, response) => void response.writeHead(200).write('a part');
    await expect(send({ timeoutMs: 50 })).rejects.toThrow();
  });

  it('rejects when a signal aborts, before and during the request', async () => {
    answer = () => undefined;
    await expect(send({ signals: [AbortSignal.abort()] })).rejects.toThrow('aborted');
    const controller = new AbortController();
    answer = () => controller.abort();
    await expect(send({ signals: [new AbortController().signal, controller.signal] })).rejects.toThrow('aborted');
  });

  it('rejects when the connection breaks in the response, and when the body cannot be read', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '10' }).write('a part', () => response.destroy());
    };
    await expect(send()).rejects.toThrow();
    answer = (request) => request.resume();
    const body = new Readable({ read: () => body.destroy(new Error('The file is gone.')) });
    await expect(send({ body })).rejects.toThrow('The file is gone.');
  });
});
