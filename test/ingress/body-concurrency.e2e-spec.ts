import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type BuiltWebhook, startTestIngress, type TestIngress } from '#testing';
import { loggedDeliveries } from './delivery-log.js';
import { type Answer, bearer, post } from './post.js';
import { RawConnection } from './raw-connection.js';

/** Of which one webhook gets a quarter, and one sender an eighth of either when slots run short. */
const SLOTS = 16;
const WEBHOOK_SLOTS = 4;

let ingress: TestIngress;
const connections: RawConnection[] = [];

beforeAll(async () => {
  ingress = await startTestIngress({
    settings: {
      ingressMaxConcurrentBodies: SLOTS,
      ingressMetricsPort: 0,
      trustedProxies: ['127.0.0.1'],
      webhookAuthFailureLimit: 3,
      webhookRateLimit: 1000,
    },
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  connections.splice(0).forEach((connection) => connection.end());
  await vi.waitFor(async () => expect(await metric('headrace_ingress_bodies')).toBe(0));
});
afterAll(() => ingress.close());

async function metric(name: string): Promise<number> {
  const text = await (await fetch(ingress.metricsUrl ?? '')).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `)) ?? '';
  return Number(line.slice(name.length + 1));
}

/** The beginning of a delivery whose body has a slot when this resolves. */
async function hold(hook: BuiltWebhook, address: string, secret = hook.secret): Promise<RawConnection> {
  const lines = [`POST ${hook.path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${secret}`];
  const connection = new RawConnection(ingress.url).send(
    [...lines, `X-Forwarded-For: ${address}`, 'Content-Length: 10', 'Expect: 100-continue', '', '{"a"'].join('\r\n'),
  );
  connections.push(connection);
  await connection.says('100 Continue');
  return connection;
}
const holdAll = (hook: BuiltWebhook, addresses: readonly string[]): Promise<RawConnection[]> =>
  Promise.all(addresses.map((address) => hold(hook, address)));
const repeated = (address: string): string[] => Array.from({ length: WEBHOOK_SLOTS }, () => address);

const deliver = (hook: BuiltWebhook, address: string, body = '{}', secret = hook.secret): Promise<Answer> =>
  post(ingress.url + hook.path, { headers: { ...bearer(secret), 'X-Forwarded-For': address }, body });

describe('when body slots are scarce', () => {
  it('interrupts the oldest body of an address that holds all slots of a webhook, for another address', async () => {
    const hook = await ingress.webhooks.webhook();
    const longest = await hold(hook, '192.0.2.1');
    const others = await holdAll(hook, repeated('192.0.2.1').slice(1));
    const yielded = await metric('headrace_ingress_bodies_aborted_total');
    expect((await deliver(hook, '192.0.2.9')).status).toBe(202);
    await longest.says(/HTTP\/1\.1 503 [^]*Retry-After: 1\r\n/);
    await longest.closed;
    expect(others.map(({ text }) => text.includes('503'))).toEqual(others.map(() => false));
    expect(await metric('headrace_ingress_bodies_aborted_total')).toBe(yielded + 1);
  });

  it('interrupts a body of an address that holds the slots of all webhooks, for another address', async () => {
    const hooks = await Promise.all(Array.from({ length: SLOTS / WEBHOOK_SLOTS }, () => ingress.webhooks.webhook()));
    for (const hook of hooks) await holdAll(hook, repeated('192.0.2.1'));
    expect(await metric('headrace_ingress_bodies')).toBe(SLOTS);
    const honest = await ingress.webhooks.webhook();
    expect((await deliver(honest, '192.0.2.9')).status).toBe(202);
  });

  it('interrupts one body when the slots of a webhook and all slots are in use', async () => {
    const [hook, ...others] = await Promise.all(
      Array.from({ length: SLOTS / WEBHOOK_SLOTS }, () => ingress.webhooks.webhook()),
    );
    if (!hook) throw new Error('There is no webhook.');
    await holdAll(hook, repeated('192.0.2.1'));
    for (const [index, other] of others.entries())
      await holdAll(
        other,
        Array.from({ length: WEBHOOK_SLOTS }, (_, n) => `198.51.100.${10 * index + n}`),
      );
    const yielded = await metric('headrace_ingress_bodies_aborted_total');
    expect((await deliver(hook, '192.0.2.9')).status).toBe(202);
    expect(await metric('headrace_ingress_bodies_aborted_total')).toBe(yielded + 1);
  });

  it('counts an IPv6 /64 network as one address', async () => {
    const hook = await ingress.webhooks.webhook();
    await holdAll(hook, ['2001:db8::1', '2001:db8::2', '2001:db8:0:0:3::', '2001:db8::ffff']);
    expect((await deliver(hook, '2001:db8::99')).status).toBe(503);
    expect((await deliver(hook, '2001:db8:0:1::99')).status).toBe(202);
  });

  it('interrupts the oldest body of many addresses only after a second', async () => {
    const hook = await ingress.webhooks.webhook();
    const longest = await hold(hook, '192.0.2.1');
    await holdAll(hook, ['192.0.2.2', '192.0.2.3', '192.0.2.4']);
    expect((await deliver(hook, '192.0.2.9')).status).toBe(503);
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 1000);
    expect((await deliver(hook, '192.0.2.9')).status).toBe(202);
    await longest.says('HTTP/1.1 503 ');
  });

  it('logs deliveries that are rejected with 503, once a minute', async () => {
    const hook = await ingress.webhooks.webhook();
    await holdAll(hook, repeated('192.0.2.1'));
    const now = performance.now.bind(performance);
    const lines = (): number => ingress.log.text.split('Deliveries are rejected with 503').length - 1;
    const start = lines();
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 0.5);
    for (let n = 0; n < 3; n += 1) expect((await deliver(hook, '192.0.2.1')).status).toBe(503);
    expect(lines()).toBeLessThanOrEqual(start + 1);
    expect(ingress.log.text).toContain(`of ${SLOTS} body slots are in use (INGRESS_MAX_CONCURRENT_BODIES)`);
  });
});

describe('incomplete bodies', () => {
  const breakOff = async (hook: BuiltWebhook, secret?: string): Promise<void> => {
    const before = await metric('headrace_ingress_requests_total{result="disconnected"}');
    (await hold(hook, '192.0.2.50', secret)).end();
    await vi.waitFor(async () =>
      expect(await metric('headrace_ingress_requests_total{result="disconnected"}')).toBe(before + 1),
    );
  };

  it('do not count as failures of a sender with the correct token', async () => {
    const hook = await ingress.webhooks.webhook();
    for (let n = 0; n < 4; n += 1) await breakOff(hook);
    expect((await deliver(hook, '192.0.2.50')).status).toBe(202);
  });

  it('do not count as failures of a sender that has signed a delivery before', async () => {
    const hook = await ingress.webhooks.webhook({ authMode: 'signature', signatureScheme: 'gitlab_token' });
    const signed = (n: number): Promise<Answer> =>
      post(ingress.url + hook.path, {
        headers: { 'X-Gitlab-Token': hook.secret, 'X-Forwarded-For': '192.0.2.50' },
        body: JSON.stringify(n),
      });
    expect((await signed(1)).status).toBe(202);
    for (let n = 0; n < 4; n += 1) await breakOff(hook);
    expect((await signed(2)).status).toBe(202);
  });

  it('count as failures of a sender that has never authenticated', async () => {
    const hook = await ingress.webhooks.webhook();
    for (let n = 0; n < 3; n += 1) await breakOff(hook, 'wrong');
    const refused = await deliver(hook, '192.0.2.50');
    expect([refused.status, refused.json?.error_code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await deliver(hook, '192.0.2.51')).status).toBe(202);
  });
});

describe('X-Forwarded-For', () => {
  it.each([
    ['192.0.2.7:5678', '192.0.2.7'],
    ['[2001:db8::7]:443', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['2001:db8::7', '2001:db8::7'],
    ['198.51.100.1, 192.0.2.7:1, 127.0.0.1:5', '192.0.2.7'],
  ])('%s names the sender %s', async (header, address) => {
    const hook = await ingress.webhooks.webhook();
    expect((await deliver(hook, header)).status).toBe(202);
    expect(await loggedDeliveries(ingress.database, hook.id)).toMatchObject([{ source_ip: address }]);
    expect(ingress.log.text).not.toContain('an entry that is not an IP address');
  });

  it('that is malformed counts as the proxy, with one warning', async () => {
    const hook = await ingress.webhooks.webhook();
    for (const header of ['unknown', '192.0.2.7:x', '192.0.2.999:80', '[192.0.2.7', ''])
      expect((await deliver(hook, header, JSON.stringify(header))).status).toBe(202);
    const rows = await loggedDeliveries(ingress.database, hook.id);
    expect(rows.map(({ source_ip: source }) => source)).toEqual(rows.map(() => '127.0.0.1'));
    expect(ingress.log.text.split('an entry that is not an IP address')).toHaveLength(2);
  });
});
