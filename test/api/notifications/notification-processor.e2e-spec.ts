import { afterAll, beforeAll, expect, it } from 'vitest';
import { startProcessor } from '#apps/processor/src/main';
import { type RunningApp, withSettings } from '#platform/config';
import { until } from '../../support/installation.js';
import { ApiFixture } from '../../support/api-fixture.js';
import { NOTIFICATION_WEBHOOKS, WebhookReceiver, LOCAL_RECEIVERS } from './webhook-receiver.js';

const NEVER_MS = 60_000;

let fixture: ApiFixture;
let receiver: WebhookReceiver;
let processor: RunningApp;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: LOCAL_RECEIVERS });
  receiver = await WebhookReceiver.listen();
  // Nothing is placed, and nothing is found by polling: what comes was nudged for.
  const settings = withSettings(fixture.api.settings, { notifyPoll: NEVER_MS, placementPoll: NEVER_MS });
  processor = await startProcessor(settings);
});
afterAll(async () => {
  await processor.close();
  await receiver.close();
  await fixture.close();
});

it('the processor sends messages on a wake-up until none is pending', async () => {
  const { api, admin } = fixture;
  const { token } = admin;
  const body = { name: 'hook', url: receiver.url };
  const { body: hook } = await api.request(201, `POST ${NOTIFICATION_WEBHOOKS}`, { token, body });
  await api.request(202, `POST ${NOTIFICATION_WEBHOOKS}/${hook.uid}/test`, { token });
  expect(JSON.parse((await receiver.next()).body)).toMatchObject({ type: 'webhook.test' });
  // It has arrived; its sender has not recorded that yet.
  const pending = `SELECT 1 FROM notification_deliveries WHERE webhook_uid = $1 AND status = 'pending'`;
  await until(async () => (await api.database.query(pending, [hook.uid])).length === 0);
  // More than go out to one receiver at once.
  await api.database.query(
    `INSERT INTO notification_deliveries (webhook_uid, type, data, next_attempt_at)
     SELECT $1, 'run.succeeded', jsonb_build_object('n', n), headrace.now() FROM generate_series(1, 9) n`,
    [hook.uid],
  );
  await api.request(202, `POST ${NOTIFICATION_WEBHOOKS}/${hook.uid}/test`, { token });
  const types: string[] = [];
  while (types.length < 10) types.push(JSON.parse((await receiver.next()).body).type);
  expect(types.sort()).toEqual([...Array.from({ length: 9 }, () => 'run.succeeded'), 'webhook.test']);
});
