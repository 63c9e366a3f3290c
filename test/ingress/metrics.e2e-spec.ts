import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import {
  type BuiltWebhook,
  createDatabaseProxy,
  createTestDatabase,
  startTestIngress,
  type TestIngress,
} from '#testing';
import { bearer, post, type Sending } from './post.js';

let ingress: TestIngress;
let hook: BuiltWebhook;

beforeAll(async () => {
  ingress = await startTestIngress({
    settings: {
      ingressMetricsPort: 0,
      ingressRejectionRateLimit: 40,
      webhookAuthFailureLimit: 10_000,
      webhookRateLimit: 4,
    },
  });
  hook = await ingress.webhooks.webhook();
});
afterAll(() => ingress.close());

const metrics = async (): Promise<string> => {
  const response = await fetch(ingress.metricsUrl ?? '');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/plain');
  return response.text();
};
/** The number of a line of the text format. */
const valueOf = (text: string, line: string): number =>
  Number(
    text
      .split('\n')
      .find((one) => one.startsWith(`${line} `))
      ?.slice(line.length + 1),
  );
const send = async (status: number, sending: Sending, path = hook.path): Promise<void> => {
  expect((await post(ingress.url + path, sending)).status).toBe(status);
};
const delivery = (body: string): Sending => ({ headers: bearer(hook.secret), body });

it('counts requests by result over all webhooks, and measures accepted deliveries', async () => {
  const before = await metrics();
  expect(valueOf(before, 'headrace_ingress_requests_total{result="accepted"}')).toBe(0);
  await send(202, delivery('{"n":1}'));
  await send(202, delivery('{"n":2}'));
  await send(202, delivery('{"n":2}'));
  await send(400, delivery('no json'));
  await send(429, delivery('{"n":3}'));
  await send(401, { headers: bearer('wrong'), body: '{}' });
  await send(404, { body: '{}' }, `/webhooks/w/${'x'.repeat(22)}`);
  await send(405, { method: 'PUT', body: '{}' });
  await send(413, { headers: bearer(hook.secret), body: 'x'.repeat(262_145) });
  await send(431, { headers: Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`X-${n}`, 'x'])), body: '{}' });
  const text = await metrics();
  const results = {
    accepted: 2,
    duplicate: 1,
    ...{ invalid_json: 1, rate_limited: 1, unauthenticated: 1, unknown_webhook: 1 },
    ...{ not_post: 1, too_large: 1, headers_too_large: 1 },
    ...{ handshake: 0, auth_failures: 0, busy: 0, disconnected: 0, unavailable: 0, fault: 0 },
  };
  for (const [result, count] of Object.entries(results))
    expect([result, valueOf(text, `headrace_ingress_requests_total{result="${result}"}`)]).toEqual([result, count]);
  expect(text.match(/^headrace_ingress_requests_total/gm)).toHaveLength(Object.keys(results).length);
  expect(valueOf(text, 'headrace_ingress_delivery_seconds_count')).toBe(3);
  expect(valueOf(text, 'headrace_ingress_delivery_seconds_bucket{le="+Inf"}')).toBe(3);
  expect(valueOf(text, 'headrace_ingress_delivery_seconds_sum')).toBeGreaterThan(0);
  for (const secret of [hook.uid, hook.secret, hook.factoryUid]) expect(text).not.toContain(secret);
});

it('counts requests that failed without the database', async () => {
  const database = await createTestDatabase();
  const proxy = await createDatabaseProxy(database.url);
  const another = await startTestIngress({
    database: { ...database, url: proxy.url },
    settings: { ingressMetricsPort: 0 },
  });
  try {
    await proxy.cut();
    expect((await post(`${another.url}/webhooks/w/${'y'.repeat(22)}`, { body: '{}' })).status).toBe(503);
    const text = await (await fetch(another.metricsUrl ?? '')).text();
    expect(valueOf(text, 'headrace_ingress_requests_total{result="unavailable"}')).toBe(1);
  } finally {
    await proxy.restore();
    await another.close();
    await proxy.close();
    await database.close();
    another.log.clear();
  }
});

it('counts rejections with their own and with a shared log line', async () => {
  const other = await ingress.webhooks.webhook();
  const [own, shared] = ['own', 'shared'].map((line) => `headrace_ingress_rejections_logged_total{line="${line}"}`);
  const before = await metrics();
  for (let n = 0; n < 23; n += 1) await send(401, { headers: bearer('wrong'), body: '{}' }, other.path);
  const after = await metrics();
  const more = (line = ''): number => valueOf(after, line) - valueOf(before, line);
  expect([more(own), more(shared)]).toEqual([20, 3]);
  expect(valueOf(after, 'headrace_ingress_rejections_logged_total{line="dropped"}')).toBe(0);
  await vi.waitFor(async () =>
    expect(valueOf(await metrics(), 'headrace_ingress_rejection_log_lines_waiting')).toBe(0),
  );
});

it('shows rejections that are delayed', async () => {
  const slow = await startTestIngress({
    database: ingress.database,
    settings: { ingressMetricsPort: 0, ingressRejectionRateLimit: 2 },
  });
  const shown = async (name: string) =>
    valueOf(await (await fetch(slow.metricsUrl ?? '')).text(), `headrace_ingress_rejections_${name}`);
  const rejected = Array.from({ length: 6 }, () => post(`${slow.url}/webhooks/w/${'x'.repeat(22)}`, { body: '{}' }));
  await vi.waitFor(async () => expect(await shown('waiting')).toBeGreaterThan(0), { interval: 10 });
  await Promise.all(rejected);
  await vi.waitFor(async () => expect(await shown('waiting')).toBe(0));
  expect(await shown('throttled_total')).toBeGreaterThan(0);
  await slow.close();
});

it('serves metrics on a separate port, and only with the setting', async () => {
  const { origin } = new URL(ingress.metricsUrl ?? '');
  expect(origin).not.toBe(ingress.url);
  expect((await fetch(`${ingress.url}/metrics`)).status).toBe(404);
  expect((await fetch(`${origin}/webhooks/w/${hook.uid}`, { method: 'POST' })).status).toBe(404);
  expect((await fetch(`${origin}/metrics`, { method: 'POST' })).status).toBe(405);
  const without = await startTestIngress({ database: ingress.database });
  expect(without.metricsUrl).toBeNull();
  await without.close();
});

it('a port that is taken is reported, and nothing stays open', async () => {
  const taken = Number(new URL(ingress.metricsUrl ?? '').port);
  await expect(
    startTestIngress({ database: ingress.database, settings: { ingressMetricsPort: taken } }),
  ).rejects.toMatchObject({ code: 'EADDRINUSE', port: taken });
});
