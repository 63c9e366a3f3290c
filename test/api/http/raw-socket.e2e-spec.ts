import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { onDatabase, startTestApi, type TestApi, until } from '#testing';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ settings: { requestTimeout: 1000 } });
});
afterAll(() => api.close());

/** What the server answers on a bare connection, until it closes it. */
function received(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1', () => socket.write(bytes));
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => (answer += chunk));
    socket.once('error', reject);
    socket.once('close', () => resolve(answer));
  });
}

async function send(bytes: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const [head = '', body = ''] = (await received(bytes)).split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), body: JSON.parse(body) };
}

describe('requests that Node rejects before the application', () => {
  it('gets 400 for a malformed request', async () => {
    const { status, body } = await send('hello there\r\n\r\n');
    expect(status).toBe(400);
    expect(body).toMatchObject({ error_code: 'invalid_request', type: `${api.url}/problems/invalid_request` });
  });

  it('gets 431 for oversized headers', async () => {
    const { status, body } = await send(`GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'a'.repeat(20_000)}\r\n\r\n`);
    expect(status).toBe(431);
    expect(body).toMatchObject({ error_code: 'headers_too_large', retryable: false });
  });

  it('gets 408 for a request that does not end', async () => {
    const { status, body } = await send('GET / HTTP/1.1\r\nHost: x\r\nX-Slow');
    expect(status).toBe(408);
    expect(body).toMatchObject({ error_code: 'request_timeout', retryable: true });
  });
});

it('closes a connection without a response when nothing has arrived', async () => {
  expect(await received('')).toBe('');
});

describe('requests that are sent before the response to the one before', () => {
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

  it('are not executed, and the connection ends after the first response', async () => {
    const text = await received(get('/openapi.json').repeat(50));
    expect(text.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n\{"openapi":/);
    expect(text.trimEnd().endsWith('}')).toBe(true);
  });

  it('leave no open files when their client has read nothing', async () => {
    const openFiles = () => readdirSync('/proc/self/fd').length;
    const before = openFiles();
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.pause();
    await new Promise((resolve) => socket.write(get('/docs/swagger-ui-bundle.js').repeat(500), resolve));
    // The server has read the requests when it responds to a later one.
    await fetch(`${api.url}/health/live`);
    socket.destroy();
    await until(() => openFiles() <= before + 5, 10_000, 'the end of open files');
  });
});

describe('a client that disconnects while its token is checked', () => {
  it('is logged as 499, and not as an error', async () => {
    const { token } = await api.identities.user({ [await api.identities.team()]: 'owner' });
    const other = await api.identities.user();
    api.log.clear();
    const requestLine = () => api.log.lines.find(({ route }) => route === 'POST /api/v1/agent/runs');
    await onDatabase(api.database.url, async (locking) => {
      await locking.query('BEGIN');
      await locking.query('LOCK TABLE headrace.tokens IN ACCESS EXCLUSIVE MODE');
      const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
      socket.write(
        `POST /api/v1/agent/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
          'Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{"prompt":',
      );
      await vi.waitFor(async () => {
        const [waiting] = await locking.query<{ count: string }>(
          `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        expect(waiting?.count).toBe('1');
      });
      socket.destroy();
      await vi.waitFor(() => expect(requestLine()).toMatchObject({ msg: 'request', status: 499 }));
      await locking.query('ROLLBACK');
    });
    // Waits for the same table, and is answered after the body of the first request was not read.
    await api.request(200, 'GET /agent/runs', { token: other.token });
    expect(api.log.errors).toEqual([]);
  });
});
