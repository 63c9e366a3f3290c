import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startProcessor } from '#apps/processor/src/main';
import { withSettings } from '#platform/config';
import { newUuid } from '#platform/kernel';
import {
  type BuiltWebhook,
  DeliveryBuilder,
  startTestApi,
  type TestApi,
  type TestPrincipal,
  WebhookBuilder,
} from '#testing';
import { requestAnyStatus, sendConcurrently } from '../../support/api-requests.js';

const MINUTE = 60_000;

let api: TestApi;
let webhooks: WebhookBuilder;
let log: DeliveryBuilder;
let hook: BuiltWebhook;
let admin: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  webhooks = new WebhookBuilder(api.database, api.settings);
  log = new DeliveryBuilder(api.database);
});
afterAll(() => api.close());
beforeEach(async () => {
  hook = await webhooks.webhook();
  admin = await api.identities.user({ [hook.teamUid]: 'admin' });
});

const path = () => `/factories/${hook.factoryUid}/webhooks/${hook.uid}/deliveries`;
const redeliver = (id: string, status = 202) =>
  api.request(status, `POST ${path()}/${id}/redeliver`, { token: admin.token });
const get = async (id: string) => (await api.request(200, `GET ${path()}/${id}`, { token: admin.token })).body;
/** Of the newest delivery. */
const newest = async () => (await api.request(200, `GET ${path()}?limit=1`, { token: admin.token })).body.deliveries[0];

describe('redeliverWebhookDelivery', () => {
  it('creates a new delivery with the same bytes and another identity', async () => {
    const body = ' {"a":1.0,"a":"é"} ';
    const { id } = await log.build(hook.id, {
      body,
      identity: 'd-1',
      headers: { 'user-agent': 'x' },
      isEvaluated: true,
    });
    const { delivery_id: again } = (await redeliver(id)).body;
    expect(await get(again)).toEqual({
      delivery_id: again,
      outcome: 'Accepted',
      identity: again,
      redelivery_of: id,
      size_bytes: Buffer.byteLength(body),
      received_at: expect.any(String),
      source_ip: '203.0.113.7',
      headers: { 'user-agent': 'x' },
      payload: body,
    });
    expect(await newest()).toMatchObject({ delivery_id: again });
    const { delivery_id: third } = (await redeliver(again)).body;
    expect(await get(third)).toMatchObject({ redelivery_of: again, payload: body });
  });

  it.each(['D', 'U', 'J', 'L', 'H'] as const)('rejects a delivery that was not accepted: %s', async (outcome) => {
    const { body } = await redeliver((await log.build(hook.id, { outcome })).id, 422);
    expect(body.error_code).toBe('operation_not_supported');
  });

  it('rejects a delivery of a disabled webhook', async () => {
    hook = await webhooks.webhook({ factoryUid: hook.factoryUid, enabled: false });
    const { body } = await redeliver((await log.build(hook.id)).id, 422);
    expect(body.detail).toContain('disabled');
  });

  it('returns 404 for a delivery of another webhook', async () => {
    await redeliver((await log.build((await webhooks.webhook({ factoryUid: hook.factoryUid })).id)).id, 404);
  });

  it('is limited to sixty per minute, also for concurrent requests, separately from the sender', async () => {
    const { id } = await log.build(hook.id);
    const line = `POST ${path()}/${id}/redeliver`;
    const lock = `SELECT 1 FROM headrace.webhooks WHERE id = ${hook.id} FOR UPDATE`;
    const answers = await sendConcurrently(api, lock, () =>
      Array.from({ length: 65 }, () => requestAnyStatus(api, line, { token: admin.token })),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(60);
    expect(refused).toHaveLength(5);
    for (const { headers } of refused) {
      const seconds = Number(headers.get('retry-after'));
      expect(seconds).toBeGreaterThan(45);
      expect(seconds).toBeLessThanOrEqual(60);
    }
    const [taken] = await api.database.query(
      `SELECT verdict FROM headrace.accept_deliveries(jsonb_build_array(jsonb_build_object('webhook_id', $1::bigint, 'version', 1,
         'outcome', 'A', 'id', $2::uuid, 'identity_kind', 'service_header', 'identity', 'x', 'size', 2, 'source_ip', '::1')),
         sha256('x'), '{}', 60, '1 minute')`,
      [hook.id, newUuid()],
    );
    expect(taken).toEqual({ verdict: 'accepted' });
    await api.advanceClock(MINUTE);
    await redeliver(id);
  });

  it('wakes up the processor, which evaluates the delivery', async () => {
    const { id } = await log.build(hook.id, { isEvaluated: true });
    const never = { webhookEvaluationPoll: MINUTE, placementPoll: MINUTE, notifyPoll: MINUTE };
    const processor = await startProcessor(withSettings(api.settings, never));
    try {
      await api.database.query(
        `CREATE FUNCTION headrace.tell() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_notify(''evaluated'', NEW.id::text); RETURN NULL; END';
         CREATE TRIGGER tell AFTER UPDATE OF evaluated_at ON headrace.webhook_deliveries FOR EACH ROW
         WHEN (NEW.evaluated_at IS NOT NULL) EXECUTE FUNCTION headrace.tell()`,
      );
      const heard = await hear('evaluated');
      const { delivery_id: again } = (await redeliver(id)).body;
      await heard.first(again);
      expect(await get(again)).toMatchObject({ automation_results: [] });
    } finally {
      await processor.close();
    }
  });
});

describe('testWebhook', () => {
  const test = (body: unknown, status = 202) =>
    api.request(status, `POST /factories/${hook.factoryUid}/webhooks/${hook.uid}/test`, { token: admin.token, body });

  it('stores the payload as an accepted delivery of the caller', async () => {
    for (const payload of [{ action: 'opened' }, null, 'text', [1]]) {
      const { delivery_id: id } = (await test({ payload })).body;
      expect(await get(id)).toEqual({
        delivery_id: id,
        outcome: 'Accepted',
        identity: id,
        test: true,
        size_bytes: JSON.stringify(payload).length,
        received_at: expect.any(String),
        source_ip: '127.0.0.1',
        headers: { 'content-type': 'application/json' },
        payload: JSON.stringify(payload),
      });
    }
    const { delivery_id: id } = (await test({})).body;
    expect(JSON.parse((await get(id)).payload)).toEqual({ event: 'test', message: expect.any(String) });
    const { delivery_id: again } = (await redeliver(id)).body;
    expect(await get(again)).not.toHaveProperty('test');
  });

  it('rejects an unknown field, a payload that is larger than a delivery, and a disabled webhook', async () => {
    await test({ payload: 'x'.repeat(262_142) });
    const { body } = await test({ payload: 'x'.repeat(262_143) }, 413);
    expect(body).toMatchObject({ error_code: 'payload_too_large' });
    const line = `POST /factories/${hook.factoryUid}/webhooks/${hook.uid}/test`;
    await api.request(415, line, { token: admin.token, body: '{}', contentType: 'text/plain' });
    expect((await test({ body: 'x' }, 400)).body.errors).toMatchObject([{ pointer: '/body' }]);
    hook = await webhooks.webhook({ factoryUid: hook.factoryUid, enabled: false });
    expect((await test({}, 422)).body.detail).toContain('disabled');
  });

  it('shares its limit with redeliveries', async () => {
    const { delivery_id: id } = (await test({})).body;
    await Promise.all(Array.from({ length: 58 }, () => test({})));
    await redeliver(id);
    await test({}, 429);
    await redeliver(id, 429);
    await api.advanceClock(MINUTE);
    await test({});
  });
});

/** Notifications of a channel, from now on. */
async function hear(channel: string): Promise<{ first(payload: string): Promise<void> }> {
  const client = new pg.Client({ connectionString: api.database.url });
  await client.connect();
  const payloads = new Set<string | undefined>();
  let wake = (): void => undefined;
  client.on('notification', ({ payload }) => {
    payloads.add(payload);
    wake();
  });
  await client.query(`LISTEN ${channel}`);
  return {
    async first(payload) {
      while (!payloads.has(payload)) await new Promise<void>((resolve) => (wake = resolve));
      await client.end();
    },
  };
}
