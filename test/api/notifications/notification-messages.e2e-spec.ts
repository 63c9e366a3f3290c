import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SweepExecutions } from '#execution/executions';
import { TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { deliverDue, LOCAL_RECEIVERS, NOTIFICATION_WEBHOOKS, WebhookReceiver } from './webhook-receiver.js';

interface Schema {
  properties?: object;
  additionalProperties?: unknown;
}
const DOCUMENT = JSON.parse(readFileSync(new URL('../../../openapi.json', import.meta.url), 'utf8')) as {
  webhooks: Record<string, object>;
  components: { schemas: Record<string, Schema> };
};
const EVENTS = Object.keys(DOCUMENT.webhooks);

/** The document with closed schemas: a field that a message has and the document does not describe is an error. */
const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { 'date-time': /^\d{4}-\d\d-\d\dT[\d:.]+Z$/ } });
for (const schema of Object.values(DOCUMENT.components.schemas))
  if (schema.properties) schema.additionalProperties ??= false;
ajv.addSchema(DOCUMENT, 'openapi');
const validatorOf = (event: string) =>
  ajv.compile({ $ref: `openapi#/webhooks/${event}/post/requestBody/content/application~1json/schema` });

let fixture: ApiFixture;
let receiver: WebhookReceiver;
/** The bodies that were delivered, by their type. */
const delivered = new Map<string, unknown[]>();

const createRun = async (): Promise<string> => {
  const body = { prompt: 'Go.', title: 'Tidy up', metadata: { ticket: 'T-1' } };
  return (await fixture.api.request(200, 'POST /agent/runs', { token: fixture.admin.token, body })).body.run_id;
};
const startedRun = async (): Promise<TestRunner> => {
  const runner = await TestRunner.take(fixture.api, await createRun());
  await runner.startAgent();
  return runner;
};

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: LOCAL_RECEIVERS });
  receiver = await WebhookReceiver.listen();
  const { api, admin } = fixture;
  const { token } = admin;
  const hooks = [{ name: 'by name' }, { name: 'all', events: ['run.state_changed'] }];
  for (const hook of hooks)
    await api.request(201, `POST ${NOTIFICATION_WEBHOOKS}`, { token, body: { ...hook, url: receiver.url } });

  await (
    await startedRun()
  ).report(
    ['turn_started', { turn_id: 't1', prompt: 'Go.' }],
    ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
  );
  await (await startedRun()).finish('failed', { message: 'It broke.', error_code: 'agent_process_failed' });
  await (
    await startedRun()
  ).report(
    ['turn_started', { turn_id: 't1', prompt: 'Go.' }],
    ['permission_requested', { approval_id: 'a1', title: 'May I?', options: [], ask: true }],
  );
  await api.request(200, `POST /agent/runs/${await createRun()}/cancel`, { token });
  const lost = await createRun();
  await (await TestRunner.take(api, lost)).startAgent();
  await api.database.query(
    `UPDATE executions SET lease_expires_at = headrace.now() - interval '1 hour' WHERE run_id = $1`,
    [lost],
  );
  await api.app.get(SweepExecutions).execute();
  const [hook] = (await api.request(200, `GET ${NOTIFICATION_WEBHOOKS}`, { token })).body.notification_webhooks;
  await api.request(202, `POST ${NOTIFICATION_WEBHOOKS}/${hook.uid}/test`, { token });

  await deliverDue(api);
  for (const { body } of receiver.take()) {
    const message = JSON.parse(body) as { type: string };
    delivered.set(message.type, [...(delivered.get(message.type) ?? []), message]);
  }
});
afterAll(async () => {
  await receiver.close();
  await fixture.close();
});

describe('the schema of the OpenAPI document', () => {
  it('describes every type of message that is delivered', () => {
    expect([...delivered.keys()].sort()).toEqual([...EVENTS].sort());
  });

  it.each(EVENTS)('accepts delivered messages of type %s', (event) => {
    const validate = validatorOf(event);
    for (const message of delivered.get(event) ?? []) {
      expect(validate(message), JSON.stringify([validate.errors, message])).toBe(true);
    }
  });

  it.each(EVENTS)('rejects a message of type %s with a field that it does not describe', (event) => {
    const validate = validatorOf(event);
    const [message] = delivered.get(event) ?? [];
    expect(validate({ ...(message as object), extra: true })).toBe(false);
    expect(validate({ ...(message as object), data: {} })).toBe(false);
  });
});
