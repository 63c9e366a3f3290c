import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '#libs/testing';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ settings: { requestTimeout: 1000 } });
});
afterAll(() => api.close());

/** What the server answers on a bare connection, until it closes it. */
function send(bytes: string): Promise<{ status: number; body: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1', () => socket.write(bytes));
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => (answer += chunk));
    socket.once('error', reject);
    socket.once('close', () => {
      const [head = '', body = ''] = answer.split('\r\n\r\n');
      resolve({ status: Number(head.split(' ')[1]), body: JSON.parse(body) });
    });
  });
}

describe('requests that Node refuses before anybody else sees them', () => {
  it('garbage: 400', async () => {
    const { status, body } = await send('hello there\r\n\r\n');
    expect(status).toBe(400);
    expect(body).toMatchObject({ error_code: 'invalid_request', type: `${api.url}/problems/invalid_request` });
  });

  it('oversized headers: 431', async () => {
    const { status, body } = await send(`GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'a'.repeat(20_000)}\r\n\r\n`);
    expect(status).toBe(431);
    expect(body).toMatchObject({ error_code: 'headers_too_large', retryable: false });
  });

  it('a request that never ends: 408', async () => {
    const { status, body } = await send('GET / HTTP/1.1\r\nHost: x\r\nX-Slow');
    expect(status).toBe(408);
    expect(body).toMatchObject({ error_code: 'request_timeout', retryable: true });
  });
});
