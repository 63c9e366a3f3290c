import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type BuiltWebhook, startTestIngress, type TestIngress } from '#testing';
import { loggedDeliveries, untilLogged } from './delivery-log.js';
import { bearer, post } from './post.js';
import { RawConnection } from './raw-connection.js';

let ingress: TestIngress;
let hook: BuiltWebhook;
const connections: RawConnection[] = [];

beforeAll(async () => {
  ingress = await startTestIngress({
    settings: {
      ingressBodyTimeout: 1500,
      ingressMaxConcurrentBodies: 8,
      webhookAuthFailureLimit: 10_000,
      webhookRateLimit: 6000,
    },
  });
  hook = await ingress.webhooks.webhook();
});
afterEach(() => connections.splice(0).forEach((connection) => connection.end()));
afterAll(() => ingress.close());

const open = (): RawConnection => {
  const connection = new RawConnection(ingress.url);
  connections.push(connection);
  return connection;
};
const head = (to: BuiltWebhook, ...lines: string[]): string =>
  [`POST ${to.path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${to.secret}`, ...lines, '', ''].join('\r\n');

describe('a sender that is slow', () => {
  it.each([
    ['with its headers', 'POST /webhooks/w/x HTTP/1.1\r\nHost: x\r\nX-Slow: '],
    ['with its body', 'body'],
    ['with its chunks', 'chunks'],
  ])('closes the connection of a slow sender with 408 (%s)', async (_what, start) => {
    const bytes =
      start === 'body'
        ? `${head(hook, 'Content-Length: 10')}{"a"`
        : start === 'chunks'
          ? `${head(hook, 'Transfer-Encoding: chunked')}2\r\n{}\r\n`
          : start;
    const connection = open().send(bytes);
    await connection.closed;
    expect(connection.text).toMatch(/^HTTP\/1\.1 408 /);
    expect(connection.text).toContain('"error_code":"request_timeout"');
    expect(connection.text).not.toContain('trace_id');
  });

  it('delays no other sender of its webhook for longer, and no other webhook', async () => {
    const [slow, other] = [await ingress.webhooks.webhook(), await ingress.webhooks.webhook()];
    const held = Array.from({ length: 4 }, () => open().send(head(slow, 'Content-Length: 10', 'Expect: 100-continue')));
    // One webhook has a quarter of the eight places: two are invited to continue, two are asked to come again.
    await Promise.all(held.map((connection) => connection.says(/^HTTP\/1\.1 (100|503) /)));
    const invited = held.filter(({ text }) => text.startsWith('HTTP/1.1 100 Continue'));
    expect(invited).toHaveLength(2);
    for (const refused of held.filter((connection) => !invited.includes(connection)))
      expect(refused.text).toMatch(/^HTTP\/1\.1 503 [^]*Retry-After: 1\r\n/);
    expect((await post(ingress.url + other.path, { headers: bearer(other.secret), body: '{}' })).status).toBe(202);
    await Promise.all(invited.map((connection) => connection.closed));
    expect((await post(ingress.url + slow.path, { headers: bearer(slow.secret), body: '{}' })).status).toBe(202);
  });

  it('and disconnects within its body leaves no log entry', async () => {
    const own = await ingress.webhooks.webhook();
    for (let n = 0; n < 5; n += 1) {
      // The place of the one before is free as soon as the server has noticed that it is gone.
      await vi.waitFor(async () => {
        const connection = open().send(head(own, 'Content-Length: 10', 'Expect: 100-continue'));
        await connection.says('100 Continue');
        connection.send('{"a"').end();
      });
    }
    await vi.waitFor(async () =>
      expect((await post(ingress.url + own.path, { headers: bearer(own.secret), body: '{}' })).status).toBe(202),
    );
    expect((await loggedDeliveries(ingress.database, own.id)).map(({ outcome }) => outcome)).toEqual(['A']);
  });
});

describe('slots of bodies', () => {
  it('are released when senders of pipelined requests disconnect', async () => {
    const own = await ingress.webhooks.webhook();
    for (let n = 0; n < 20; n += 1) {
      const connection = open().send(`${head(own, 'Content-Length: 2')}{}${head(own, 'Content-Length: 10')}{"a"`);
      if (n % 2) await connection.says('202 Accepted');
      connection.end();
      await connection.closed;
    }
    await vi.waitFor(async () => {
      const both = await Promise.all(
        [1, 2].map((n) => post(ingress.url + own.path, { headers: bearer(own.secret), body: `{"n":${n}}` })),
      );
      expect(both.map(({ status }) => status)).toEqual([202, 202]);
    });
  });
});

describe('Expect: 100-continue', () => {
  it('continues only a request whose body is accepted', async () => {
    const connection = open().send(head(hook, 'Content-Length: 7', 'Expect: 100-continue'));
    await connection.says('HTTP/1.1 100 Continue');
    await connection.send('{"x":1}').says('202 Accepted');
  });

  it.each([
    ['413', 'Content-Length: 262145'],
    ['401', 'Content-Length: 2'],
    ['404', 'Content-Length: 2'],
  ])('answers %s', async (status, length) => {
    const own = status === '404' ? await ingress.webhooks.webhook({ enabled: false }) : hook;
    const connection = open().send(
      head(own, length, 'Expect: 100-continue', ...(status === '401' ? ['Authorization: Bearer second'] : [])),
    );
    if (status === '401') {
      await connection.says('100 Continue');
      connection.send('{}');
    }
    await connection.says(`HTTP/1.1 ${status} `);
    if (status !== '401') expect(connection.text).not.toContain('100 Continue');
  });
});

describe('a malformed HTTP request', () => {
  it.each([
    ['two lengths', ['Content-Length: 2', 'Content-Length: 3'], '{}'],
    ['a length and chunks', ['Content-Length: 2', 'Transfer-Encoding: chunked'], '2\r\n{}\r\n0\r\n\r\n'],
    ['a length that is no number', ['Content-Length: 2x'], '{}'],
    ['a negative length', ['Content-Length: -2'], '{}'],
    ['a folded header', ['X-A: 1\r\n 2', 'Content-Length: 2'], '{}'],
    ['a space before the colon', ['Content-Length : 2'], '{}'],
    ['a chunk size that is none', ['Transfer-Encoding: chunked'], 'zz\r\n{}\r\n0\r\n\r\n'],
    ['an unknown coding', ['Transfer-Encoding: gzip, chunked, identity'], '2\r\n{}\r\n0\r\n\r\n'],
    ['a NUL in a header', ['X-A: a\0b', 'Content-Length: 2'], '{}'],
  ])('rejects a malformed HTTP request and accepts no delivery (%s)', async (_what, lines, body) => {
    const own = await ingress.webhooks.webhook();
    const connection = open().send(head(own, ...lines) + body);
    await connection.says(/^HTTP\/1\.1 4\d\d /);
    expect(connection.text).toMatch(/^HTTP\/1\.1 400 /);
    expect((connection.text.match(/HTTP\/1\.1/g) ?? []).length).toBe(1);
    expect(await loggedDeliveries(ingress.database, own.id)).toEqual([]);
  });

  it('with too large or too many headers gets 431', async () => {
    const large = open().send(head(hook, `X-Big: ${'x'.repeat(20_000)}`));
    await large.says('HTTP/1.1 431 ');
    const many = open().send(head(hook, ...Array.from({ length: 110 }, (_, n) => `X-${n}: 1`), 'Content-Length: 0'));
    await many.says('HTTP/1.1 431 ');
    expect(many.text).toContain('"error_code":"headers_too_large"');
  });
});

describe('a target in absolute form', () => {
  it('is handled by its path, for any host', async () => {
    const own = await ingress.webhooks.webhook();
    const connection = open().send(
      head({ ...own, path: `http://other.example${own.path}` }, 'Content-Length: 2') + '{}',
    );
    await connection.says('HTTP/1.1 202 ');
    const unknown = open().send(
      head({ ...own, path: 'HTTP://other.example/webhooks/w/x' }, 'Content-Length: 2') + '{}',
    );
    await unknown.says('HTTP/1.1 404 ');
  });
});

describe('a response', () => {
  it('has no CORS header, no echo, no cache header, and nosniff', async () => {
    const answer = await post(`${ingress.url}${hook.path}?x=<script>`, {
      headers: { Origin: 'https://evil.example', Authorization: 'Bearer <script>' },
      body: '<script>',
    });
    expect(answer.status).toBe(401);
    expect(answer.text).not.toContain('script');
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(answer.headers['x-trace-id']).toBeUndefined();
  });

  it.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE', 'PATCH'])(
    'to %s is the same for known and unknown',
    async (method) => {
      const known = await post(ingress.url + hook.path, { method, headers: bearer(hook.secret) });
      const unknown = await post(`${ingress.url}/webhooks/w/AbCdEfGhIjKlMnOpQrStUv`, { method });
      expect([known.status, known.headers.allow]).toEqual([405, 'POST']);
      expect({ ...known, headers: { ...known.headers, date: '' } }).toEqual({
        ...unknown,
        headers: { ...unknown.headers, date: '' },
      });
    },
  );
});

describe('a flood of rejections', () => {
  it('writes a bounded number of log rows that count all of them', async () => {
    const own = await ingress.webhooks.webhook();
    for (let n = 0; n < 60; n += 1)
      expect((await post(ingress.url + own.path, { headers: bearer('wrong'), body: '{}' })).status).toBe(401);
    const rows = await untilLogged(ingress.database, own.id, 'U'.repeat(60));
    expect(rows).toHaveLength(21);
    expect(Math.max(...rows.map(({ occurrences }) => occurrences))).toBe(40);
  });
});

describe('a sender that disconnects within a body that is too large', () => {
  it('is answered once', async () => {
    const connection = open().send(head(hook, 'Content-Length: 262145') + 'x');
    await connection.says('payload_too_large');
    connection.hush();
    await connection.closed;
    expect(connection.text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413']);
  });
});

describe('an absurd content length', () => {
  it('is rejected, and rejections are still logged', async () => {
    const own = await ingress.webhooks.webhook();
    const connection = open().send(head(own, 'Content-Length: 9000000000000'));
    await connection.says('HTTP/1.1 413 ');
    expect((await post(ingress.url + own.path, { headers: bearer('wrong'), body: '{}' })).status).toBe(401);
    await untilLogged(ingress.database, own.id, 'LU');
  });
});

describe('a wrong token in the path', () => {
  it.each(['wrong', 'x%20y', '%00', 'x'.repeat(600), 'a;b', '..%2f'])(
    'is refused, however odd: %.20s',
    async (token) => {
      const own = await ingress.webhooks.webhook({ authMode: 'url_token' });
      const connection = open().send(
        head({ ...own, path: `/webhooks/w/${own.uid}/${token}` }, 'Content-Length: 2') + '{}',
      );
      await connection.says('HTTP/1.1 401 ');
    },
  );
});

describe('a webhook that waits for its secret', () => {
  it('accepts it once, from a handshake that is JSON or empty', async () => {
    const own = await ingress.webhooks.webhook({
      authMode: 'signature',
      signatureScheme: 'asana',
      secretPending: true,
    });
    const shake = (secret: string, body: string) =>
      post(ingress.url + own.path, { headers: { 'X-Hook-Secret': secret }, body });
    expect((await shake('one', 'not json')).status).toBe(404);
    const taken = await shake('two', '');
    expect([taken.status, taken.headers['x-hook-secret']]).toEqual([200, 'two']);
    expect((await shake('three', '{}')).status).toBe(404);
    expect((await loggedDeliveries(ingress.database, own.id)).map(({ outcome }) => outcome)).toEqual(['H']);
    expect(ingress.log.text).not.toContain('"two"');
  });
});

describe('attempts that arrive together', () => {
  it('do not exceed the limit', async () => {
    const strict = await startTestIngress({ database: ingress.database, settings: { webhookAuthFailureLimit: 3 } });
    try {
      const own = await ingress.webhooks.webhook();
      const guess = () => post(strict.url + own.path, { headers: bearer('wrong'), body: '{}' });
      const answers = await Promise.all(Array.from({ length: 20 }, guess));
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(3);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(17);
    } finally {
      await strict.close();
    }
  });
});

describe('the delivery log', () => {
  it('contains no credential, and neither does the log of the service', async () => {
    const own = await ingress.webhooks.webhook({ authMode: 'url_token' });
    await post(`${ingress.url}${own.path}?token=${own.secret}`, {
      headers: {
        Authorization: 'Bearer abc',
        Cookie: `s=${own.secret}`,
        'X-Signature': own.secret,
        'User-Agent': 'ua',
      },
      body: '{}',
    });
    const [row] = await loggedDeliveries(ingress.database, own.id);
    expect(row?.headers).toEqual({ 'user-agent': 'ua' });
    expect(ingress.log.text).not.toContain(own.secret);
  });
});
