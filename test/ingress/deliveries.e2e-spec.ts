import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestIngress, type TestIngress } from '#testing';
import { loggedDeliveries, untilLogged } from './delivery-log.js';
import { type Answer, bearer, post } from './post.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
let ingress: TestIngress;

beforeAll(async () => {
  ingress = await startTestIngress();
});
afterAll(() => ingress.close());

const sha256 = (data: string): string => createHash('sha256').update(data).digest('hex');

describe('a delivery with the right bearer token', () => {
  it('accepts a delivery and stores its bytes in the log before the response', async () => {
    const hook = await ingress.webhooks.webhook();
    const body = '{ "title": "Zażółć 🎉", "n": 1.0, "a": 1, "a": 2 }\r\n';
    const answer = await post(ingress.url + hook.path, {
      headers: { ...bearer(hook.secret), 'Content-Type': 'text/plain', 'User-Agent': 'tests/1', Cookie: 'a=b' },
      body,
    });
    expect([answer.status, answer.headers['content-type']]).toEqual([202, 'application/json']);
    expect(answer.json).toEqual({ delivery_id: expect.stringMatching(UUID) as string });
    expect(await loggedDeliveries(ingress.database, hook.id)).toMatchObject([
      {
        id: answer.json?.delivery_id,
        outcome: 'A',
        identity_kind: 'body_hash',
        identity: sha256(body),
        size_bytes: Buffer.byteLength(body),
        source_ip: '127.0.0.1',
        headers: { 'content-type': 'text/plain', 'user-agent': 'tests/1' },
        body: Buffer.from(body),
        evaluated_at: null,
      },
    ]);
  });

  it.each([
    '1',
    '"x"',
    'null',
    'true',
    '[]',
    '{}',
    ' {"a": [1, 2]} ',
    `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
    '"\\u0000\\ud800"',
  ])('accepts any JSON value as a body: %.40s', async (body) => {
    const hook = await ingress.webhooks.webhook();
    expect((await post(ingress.url + hook.path, { headers: bearer(hook.secret), body })).status).toBe(202);
    expect((await loggedDeliveries(ingress.database, hook.id))[0]?.body?.equals(Buffer.from(body))).toBe(true);
  });

  it.each([
    ['nothing', ''],
    ['blanks', '  \n'],
    ['half an object', '{"a":'],
    ['two values', '{} {}'],
    ['a form', 'payload=%7B%7D'],
    ['a byte order mark', '\ufeff{}'],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
    ['a broken sequence', Buffer.from([0x22, 0xc3, 0x28, 0x22])],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['something compressed', Buffer.from('1f8b0800000000000003abae050043bfa6a302000000', 'hex')],
  ])('that is %s is no JSON', async (_what, body) => {
    const hook = await ingress.webhooks.webhook();
    const answer = await post(ingress.url + hook.path, {
      headers: { ...bearer(hook.secret), 'Content-Encoding': 'gzip' },
      body,
    });
    expect([answer.status, answer.json?.error_code, answer.json?.retryable]).toEqual([400, 'invalid_request', false]);
    expect(await untilLogged(ingress.database, hook.id, 'J')).toMatchObject([{ body: null, identity: null }]);
  });

  it('is a duplicate when it is repeated, and its payload is not stored', async () => {
    const hook = await ingress.webhooks.webhook();
    const send = (): Promise<Answer> =>
      post(ingress.url + hook.path, { headers: bearer(hook.secret), body: '{"n":1}' });
    const [first, second] = [await send(), await send()];
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.json).toEqual(first.json);
    expect(await loggedDeliveries(ingress.database, hook.id)).toMatchObject([
      { outcome: 'A', duplicate_of: null },
      { outcome: 'D', duplicate_of: first.json?.delivery_id, body: null },
    ]);
  });
});

describe('the identity of a delivery', () => {
  const deliver = async (hook: { path: string; secret: string }, headers: Record<string, string>, body = '{}') => {
    const answer = await post(ingress.url + hook.path, { headers: { ...bearer(hook.secret), ...headers }, body });
    expect(answer.status).toBe(202);
    return answer.json?.delivery_id;
  };

  it('is the header of the webhook, then the header of the service, then the body', async () => {
    const hook = await ingress.webhooks.webhook({ deliveryIdHeader: 'x-event' });
    await deliver(hook, { 'X-Event': 'e-1', 'X-Headrace-Delivery-Id': 'h-1' });
    await deliver(hook, { 'X-Event': '  ', 'X-Headrace-Delivery-Id': 'h-1', 'X-Warp-Delivery-Id': 'w-1' });
    await deliver(hook, { 'X-Event': '', 'X-Warp-Delivery-Id': 'w-1' });
    await deliver(hook, {});
    expect(
      (await loggedDeliveries(ingress.database, hook.id)).map(({ outcome, identity_kind, identity }) => [
        outcome,
        identity_kind,
        identity,
      ]),
    ).toEqual([
      ['A', 'webhook_header', 'e-1'],
      ['A', 'service_header', 'h-1'],
      ['A', 'service_header', 'w-1'],
      ['A', 'body_hash', sha256('{}')],
    ]);
  });

  it('does not collide between kinds, nor between webhooks, nor by case', async () => {
    const [hook, other] = [await ingress.webhooks.webhook(), await ingress.webhooks.webhook()];
    const ids = [
      await deliver(hook, {}, '{"a":1}'),
      await deliver(hook, { 'X-Headrace-Delivery-Id': sha256('{"a":1}') }, '{"a":2}'),
      await deliver(other, {}, '{"a":1}'),
      await deliver(hook, { 'X-Headrace-Delivery-Id': 'Id' }),
      await deliver(hook, { 'X-Headrace-Delivery-Id': 'id' }),
    ];
    expect(new Set(ids).size).toBe(5);
  });

  it('is a hash when it is too long or not printable', async () => {
    const hook = await ingress.webhooks.webhook();
    const [fits, long] = ['x'.repeat(255), 'x'.repeat(256)];
    await deliver(hook, { 'X-Headrace-Delivery-Id': fits });
    await deliver(hook, { 'X-Headrace-Delivery-Id': long });
    await deliver(hook, { 'X-Headrace-Delivery-Id': 'ünïcode' });
    const [first, second, third] = await loggedDeliveries(ingress.database, hook.id);
    expect([first?.identity, second?.identity]).toEqual([fits, sha256(long)]);
    expect(third?.identity).toMatch(/^[0-9a-f]{64}$/);
  });

  it('accepts the delivery id of a rejected delivery again', async () => {
    const hook = await ingress.webhooks.webhook();
    const id = { 'X-Headrace-Delivery-Id': 'once' };
    const send = async (secret: string, body: string): Promise<number> =>
      (await post(ingress.url + hook.path, { headers: { ...bearer(secret), ...id }, body })).status;
    expect([
      await send('wrong', '{}'),
      await send(hook.secret, 'x'),
      await send(hook.secret, 'x'.repeat(262_145)),
    ]).toEqual([401, 400, 413]);
    expect(await send(hook.secret, '{}')).toBe(202);
    await untilLogged(ingress.database, hook.id, 'UJLA');
  });

  it('that occurs twice in one request is rejected', async () => {
    const hook = await ingress.webhooks.webhook();
    const headers = [
      ...Object.entries(bearer(hook.secret)).flat(),
      'X-Headrace-Delivery-Id',
      'a',
      'X-Headrace-Delivery-Id',
      'b',
    ];
    expect((await post(ingress.url + hook.path, { headers, body: '{}' })).status).toBe(401);
  });
});

describe('a wrong credential', () => {
  it.each<[string, (secret: string) => Record<string, string> | string[]]>([
    ['none', () => ({})],
    ['another secret', () => bearer('x'.repeat(43))],
    ['an empty one', () => ({ Authorization: 'Bearer ' })],
    ['a longer one', (secret) => bearer(`${secret}x`)],
    ['a shorter one', (secret) => bearer(secret.slice(0, -1))],
    ['Basic', (secret) => ({ Authorization: `Basic ${secret}` })],
    ['text behind it', (secret) => ({ Authorization: `Bearer ${secret} x` })],
    ['no scheme', (secret) => ({ Authorization: secret })],
    ['two headers', (secret) => ['Authorization', `Bearer ${secret}`, 'Authorization', `Bearer ${secret}`]],
    ['another header', (secret) => ({ 'X-Token': secret })],
  ])('rejects a wrong credential with 401 and logs it (%s)', async (_what, headers) => {
    const hook = await ingress.webhooks.webhook();
    const answer = await post(ingress.url + hook.path, { headers: headers(hook.secret), body: '{}' });
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    expect(answer.json).toEqual({
      type: 'https://runs.example/problems/authentication_required',
      title: 'Authentication is required',
      status: 401,
      detail: 'The delivery is not authenticated.',
      error_code: 'authentication_required',
      retryable: false,
      error: 'Authentication is required: The delivery is not authenticated.',
    });
    expect(await untilLogged(ingress.database, hook.id, 'U')).toMatchObject([{ size_bytes: 2, body: null }]);
  });

  it('accepts the bearer scheme in any case', async () => {
    const hook = await ingress.webhooks.webhook();
    const answer = await post(ingress.url + hook.path, {
      headers: { authorization: `bEaReR  ${hook.secret}` },
      body: '{}',
    });
    expect(answer.status).toBe(202);
  });

  it.each(['', '   '])('is every one when the stored secret is %j', async (secret) => {
    const hook = await ingress.webhooks.webhook({ secret });
    for (const given of ['', ' ', secret])
      expect((await post(ingress.url + hook.path, { headers: bearer(given), body: '{}' })).status).toBe(401);
  });

  it('in the path gets 401 without a challenge, and the correct token is accepted only there', async () => {
    const hook = await ingress.webhooks.webhook({ authMode: 'url_token' });
    const base = `${ingress.url}/webhooks/w/${hook.uid}`;
    const statuses = [
      await post(`${base}/${hook.secret}`, { body: '{"n":1}' }),
      await post(`${base}/${hook.secret}?from=here`, { body: '{"n":2}' }),
      await post(`${base}/${hook.secret}x`, { body: '{}' }),
      await post(base, { body: '{}', headers: bearer(hook.secret) }),
      await post(`${base}?token=${hook.secret}`, { body: '{}' }),
    ];
    expect(statuses.map(({ status }) => status)).toEqual([202, 202, 401, 401, 401]);
    expect(statuses[2]?.headers['www-authenticate']).toBeUndefined();
    expect(ingress.log.text).not.toContain(hook.secret);
  });

  it('answers repeated wrong credentials with 429 for the sending address only', async () => {
    const hook = await ingress.webhooks.webhook();
    const proxied = await startTestIngress({
      database: ingress.database,
      settings: { trustedProxies: ['127.0.0.1'], webhookAuthFailureLimit: 3, webhookAuthFailureWindow: 60_000 },
    });
    try {
      const send = (address: string, secret: string): Promise<Answer> =>
        post(proxied.url + hook.path, { headers: { ...bearer(secret), 'X-Forwarded-For': address }, body: '{}' });
      for (let attempt = 0; attempt < 3; attempt += 1) expect((await send('192.0.2.1', 'wrong')).status).toBe(401);
      const refused = await send('192.0.2.1', hook.secret);
      expect([refused.status, refused.json?.error_code, refused.json?.retryable]).toEqual([429, 'rate_limited', true]);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
      expect((await send('192.0.2.2', hook.secret)).status).toBe(202);
      await proxied.advanceClock(60_000);
      expect((await send('192.0.2.1', hook.secret)).status).toBe(202);
    } finally {
      await proxied.close();
    }
  });
});

describe('the size of a body', () => {
  const json = (bytes: number): string => `"${'x'.repeat(bytes - 2)}"`;

  it.each([undefined, 10_000])('may be 262,144 bytes and no more (chunks: %s)', async (chunkBytes) => {
    const hook = await ingress.webhooks.webhook();
    const send = (bytes: number): Promise<Answer> =>
      post(ingress.url + hook.path, {
        headers: bearer(hook.secret),
        body: json(bytes),
        ...(chunkBytes !== undefined && { chunkBytes }),
      });
    expect((await send(262_144)).status).toBe(202);
    const answer = await send(262_145);
    expect([answer.status, answer.json?.error_code, answer.headers.connection]).toEqual([
      413,
      'payload_too_large',
      'close',
    ]);
    const [, rejected] = await untilLogged(ingress.database, hook.id, 'AL');
    expect(rejected?.size_bytes).toBeGreaterThan(262_144);
    expect(rejected?.body).toBeNull();
  });
});

describe('the rate', () => {
  it('accepts 60 in any minute, including duplicates, and sends Retry-After', async () => {
    const [hook, other] = [await ingress.webhooks.webhook(), await ingress.webhooks.webhook()];
    const send = (to: typeof hook, n: number): Promise<Answer> =>
      post(ingress.url + to.path, { headers: bearer(to.secret), body: JSON.stringify({ n }) });
    const began = performance.now();
    const first = await Promise.all(Array.from({ length: 30 }, (_, n) => send(hook, n)));
    const spread = performance.now() - began;
    await ingress.advanceClock(40_000);
    const second = await Promise.all(Array.from({ length: 40 }, (_, n) => send(hook, n)));
    const statuses = [...first, ...second].map(({ status }) => status);
    expect(statuses.filter((status) => status === 202)).toHaveLength(60);
    const refused = second.find(({ status }) => status === 429);
    expect(refused?.json).toMatchObject({ error_code: 'rate_limited', retryable: true });
    const wait = Number(refused?.headers['retry-after']);
    expect(wait).toBeLessThanOrEqual(20);
    expect(wait).toBeGreaterThanOrEqual(18 - (performance.now() - began) / 1000);
    expect((await send(other, 1)).status).toBe(202);
    expect((await post(ingress.url + hook.path, { headers: bearer(hook.secret), body: 'no json' })).status).toBe(429);

    // The answer is about the oldest of the first thirty; the last of them came a little later.
    await ingress.advanceClock(wait * 1000 + spread);
    const third = await Promise.all(Array.from({ length: 35 }, (_, n) => send(hook, 1000 + n)));
    expect(third.filter(({ status }) => status === 202)).toHaveLength(30);
    const rows = await loggedDeliveries(ingress.database, hook.id);
    expect(rows).toHaveLength(90);
  });

  it('is shared by all processes, and accepts exactly 60 of many concurrent deliveries', async () => {
    const hook = await ingress.webhooks.webhook();
    const second = await startTestIngress({ database: ingress.database });
    try {
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          post((n % 2 ? ingress : second).url + hook.path, {
            headers: bearer(hook.secret),
            body: JSON.stringify({ n }),
          }),
        ),
      );
      expect(answers.filter(({ status }) => status === 202)).toHaveLength(60);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(40);
    } finally {
      await second.close();
    }
  });
});

describe('from its commit on, on every process,', () => {
  it('a rotation, a toggle and a deletion take effect', async () => {
    const hook = await ingress.webhooks.webhook();
    const second = await startTestIngress({ database: ingress.database });
    let n = 0;
    const both = async (secret: string): Promise<number[]> => {
      n += 1;
      const send = (at: TestIngress): Promise<Answer> =>
        post(at.url + hook.path, { headers: bearer(secret), body: JSON.stringify({ n }) });
      return [(await send(ingress)).status, (await send(second)).status];
    };
    const change = (set: string): Promise<unknown> =>
      ingress.database.query(`UPDATE headrace.webhooks SET ${set}, version = version + 1 WHERE uid = $1`, [hook.uid]);
    try {
      expect(await both(hook.secret)).toEqual([202, 202]);
      await ingress.webhooks.rotate(hook, 'the-second-secret');
      expect(await both(hook.secret)).toEqual([401, 401]);
      expect(await both('the-second-secret')).toEqual([202, 202]);
      await change('enabled = false');
      expect(await both('the-second-secret')).toEqual([404, 404]);
      expect(await both('wrong')).toEqual([404, 404]);
      await change('enabled = true');
      expect(await both('the-second-secret')).toEqual([202, 202]);
      await change('deleted_at = headrace.now()');
      expect(await both('the-second-secret')).toEqual([404, 404]);
    } finally {
      await second.close();
    }
  });
});

describe('an address without a webhook', () => {
  it('gets the same bytes whether it is unknown, disabled, deleted or malformed', async () => {
    const [disabled, deleted, token] = [
      await ingress.webhooks.webhook({ enabled: false }),
      await ingress.webhooks.webhook({ isDeleted: true }),
      await ingress.webhooks.webhook(),
    ];
    const paths = [
      '/webhooks/w/AbCdEfGhIjKlMnOpQrStUv',
      disabled.path,
      deleted.path,
      `${token.path}/extra`,
      '/webhooks/w/short',
      `/webhooks/w/${'x'.repeat(23)}`,
      `${disabled.path}/a/b`,
      `${token.path}/`,
      `${token.path};x`,
      `/webhooks/w/%41${token.uid.slice(1)}`,
      `//webhooks/w/${token.uid}`.slice(1).replace('/w/', '/w//'),
    ];
    const answers = [];
    for (const path of paths)
      answers.push(await post(ingress.url + path, { headers: bearer(token.secret), body: '{}' }));
    const shape = (answer: Answer | undefined) => ({ ...answer, headers: { ...answer?.headers, date: '' } });
    for (const answer of answers) expect(shape(answer)).toEqual(shape(answers[0]));
    expect(answers[0]?.status).toBe(404);
    expect(Object.keys(answers[0]?.json ?? {})).not.toContain('instance');
    for (const hook of [disabled, deleted, token])
      expect(await loggedDeliveries(ingress.database, hook.id)).toEqual([]);
  });
});
