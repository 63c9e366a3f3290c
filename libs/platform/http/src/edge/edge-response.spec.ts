import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, expect, it } from 'vitest';
import { addHeaders, responseClass, setEdgeHeaders } from './edge-response.js';

let server: Server | undefined;
afterEach(() => server?.close());

/** The headers that a client receives. */
async function headersOf(handle: (response: ServerResponse) => void): Promise<Headers> {
  server = createServer({ ServerResponse: responseClass() }, (_request, response) => {
    addHeaders(response, ['Cache-Control', 'no-store', 'X-Trace-Id', '1']);
    addHeaders(response, ['X-RateLimit-Limit', '600']);
    handle(response);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { headers } = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return headers;
}

it.each<[string, (response: ServerResponse) => void]>([
  ['ends', (response) => response.end()],
  ['sends its head first', (response) => response.flushHeaders()],
  [
    'sends its head with further headers',
    (response) => response.writeHead(200, { 'Content-Type': 'text/plain' }).end(),
  ],
  ['has a message', (response) => response.writeHead(200, 'Fine').end()],
  [
    'is sent by Express',
    (response) => {
      const application = express();
      application.use((_request, answer) => void answer.send('text'));
      setEdgeHeaders(response);
      application(response.req, response);
    },
  ],
])('a response that %s has the headers of the edge', async (_what, handle) => {
  const headers = await headersOf((response) => {
    handle(response);
    response.end();
  });
  expect(Object.fromEntries(headers)).toMatchObject({
    'cache-control': 'no-store',
    'x-trace-id': '1',
    'x-ratelimit-limit': '600',
  });
});

it('a header of the handler replaces that of the edge, and other headers stay', async () => {
  const headers = await headersOf((response) => response.setHeader('cache-control', 'public').end());
  expect(headers.get('cache-control')).toBe('public');
  expect(headers.get('x-trace-id')).toBe('1');
});

it('a header that is passed with the head replaces that of the edge', async () => {
  const headers = await headersOf((response) => response.writeHead(200, { 'cache-control': 'public' }).end());
  expect(headers.get('cache-control')).toBe('public');
  expect(headers.get('x-trace-id')).toBe('1');
});
