import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { BuiltWebhook } from '#testing';
import { ApiFixture, automationsOf, webhookTrigger } from '../../support/api-fixture.js';

const BODY = '{"action":"opened","issue":{"labels":["bug","urgent"]}}';
const NO_DELIVERY = '01900000-0000-7000-8000-00000000dead';

let fixture: ApiFixture;
let hook: BuiltWebhook;
let delivery: string;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  await fixture.createFactory();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  hook = await fixture.webhooks.webhook({ factoryUid: await fixture.createFactory() });
  ({ id: delivery } = await fixture.deliveries.build(hook.id, { body: BODY }));
});

const unsaved = (body: object, status = 200) =>
  fixture.requestAsAdmin(status, `POST ${automationsOf(hook.factoryUid)}/test`, body);
const saved = (uid: string, index: number | string, body: unknown, status = 200) =>
  fixture.requestAsAdmin(status, `POST ${automationsOf(hook.factoryUid)}/${uid}/triggers/${index}/test`, body);
const make = (fields: object) => fixture.createAutomation(fields, hook.factoryUid);
const passed = (check: string) => ({ check, passed: true, reason: expect.stringMatching(/./) });
const failed = (check: string, reason: unknown = expect.stringMatching(/./)) => ({ check, passed: false, reason });

describe('testUnsavedTrigger', () => {
  it('returns the result of a stored delivery with its reasons', async () => {
    const matching = webhookTrigger(hook.uid, { action: ['opened', 'edited'], issue: { labels: ['bug'] } });
    expect(await unsaved({ trigger: matching, delivery_id: delivery })).toEqual({
      would_trigger: true,
      verdict: 'Would trigger',
      checks: [passed('webhook'), passed('payload')],
    });
    const other = webhookTrigger(hook.uid, { action: ['closed'] });
    const answer = await unsaved({ trigger: other, delivery_id: delivery });
    expect(answer).toEqual({
      would_trigger: false,
      verdict: 'Would not trigger',
      checks: [passed('webhook'), failed('payload')],
    });
    // The clause, and the value that decided it.
    expect(answer.checks[1].reason).toMatch(/action.*opened/);
  });

  it('reports the webhook check and the payload check when both fail', async () => {
    const other = await fixture.buildWebhook(hook.factoryUid);
    const { checks } = await unsaved({ trigger: webhookTrigger(other, { action: ['closed'] }), delivery_id: delivery });
    expect(checks).toEqual([
      failed('webhook', expect.stringContaining(hook.uid)),
      failed('payload', expect.stringContaining('opened')),
    ]);
  });

  it('accepts any payload, also null', async () => {
    const trigger = webhookTrigger(hook.uid, { action: ['opened'] });
    for (const [payload, expected] of [
      [{ action: 'opened' }, true],
      [{ action: 'Opened' }, false],
      [[{ action: 'closed' }, { action: 'opened' }], true],
      [null, false],
      ['opened', false],
    ] as const) {
      const { would_trigger } = await unsaved({ trigger, payload });
      expect([payload, would_trigger]).toEqual([payload, expected]);
    }
    expect(await unsaved({ trigger: webhookTrigger(hook.uid), payload: null })).toMatchObject({ would_trigger: true });
  });

  it('reads numbers beyond the range of a double like those of a delivery, and not as null', async () => {
    const trigger = webhookTrigger(hook.uid, { n: [null] });
    const { id } = await fixture.deliveries.build(hook.id, { body: '{"n":1e999}' });
    const body = `{"trigger":${JSON.stringify(trigger)},"payload":{"n":1e999}}`;
    const line = `POST ${automationsOf(hook.factoryUid)}/test`;
    const pasted = await fixture.request(200, line, {
      token: fixture.admin.token,
      body,
      contentType: 'application/json',
    });
    expect(pasted.body).toMatchObject({ would_trigger: false });
    expect(pasted.body).toEqual(await unsaved({ trigger, delivery_id: id }));
  });

  it('accepts payloads that are nested deeper than other bodies', async () => {
    const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });
    const payload = { ...(deep(400) as object), action: 'opened' };
    const trigger = webhookTrigger(hook.uid, { action: ['opened'] });
    expect(await unsaved({ trigger, payload })).toMatchObject({ would_trigger: true });
  });

  it('ignores response fields of a trigger', async () => {
    const trigger = { ...webhookTrigger(hook.uid), obstacle: { code: 'webhook_deleted', detail: 'Gone.' } };
    expect(await unsaved({ trigger, payload: 1 })).toMatchObject({ would_trigger: true });
  });

  it('rejects with 400 both or none of delivery and payload, a foreign delivery, and an invalid trigger', async () => {
    const trigger = webhookTrigger(hook.uid);
    for (const sample of [{}, { delivery_id: delivery, payload: null }])
      expect((await unsaved({ trigger, ...sample }, 400)).errors).toEqual([
        { pointer: '', detail: 'must have exactly one of delivery_id and payload' },
      ]);
    const elsewhere = await fixture.webhooks.webhook();
    const { id: foreign } = await fixture.deliveries.build(elsewhere.id);
    const { id: duplicate } = await fixture.deliveries.build(hook.id, { outcome: 'D', identity: 'd' });
    for (const delivery_id of [NO_DELIVERY, 'x', foreign, duplicate])
      expect((await unsaved({ trigger, delivery_id }, 400)).errors).toMatchObject([{ pointer: '/delivery_id' }]);
    for (const [wrong, pointer] of [
      [{ ...trigger, provider: 'mail' }, '/trigger/provider'],
      [webhookTrigger(hook.uid, { a: 1 }), '/trigger/filter/payload/a'],
      [webhookTrigger(elsewhere.uid), '/trigger/filter/webhook_ids/0'],
      [3, '/trigger'],
    ] as const)
      expect((await unsaved({ trigger: wrong, payload: 1 }, 400)).errors).toMatchObject([{ pointer }]);
    expect((await unsaved({ payload: 1 }, 400)).errors).toEqual([{ pointer: '/trigger', detail: 'is required' }]);
  });

  it('rejects an unknown factory with 404, and invalid bodies with 413 and 415', async () => {
    const trigger = webhookTrigger(hook.uid);
    await fixture.requestAsAdmin(404, `POST ${automationsOf('0'.repeat(22))}/test`, { trigger, payload: 1 });
    const { errors } = await unsaved({ trigger, payload: 'x'.repeat(262_143) }, 413);
    expect(errors).toMatchObject([{ pointer: '/payload' }]);
    await unsaved({ trigger, payload: 'x'.repeat(262_142) });
    await unsaved({ trigger, payload: 'x'.repeat(1_100_000) }, 413);
    await fixture.request(415, `POST ${automationsOf(hook.factoryUid)}/test`, {
      token: fixture.admin.token,
      body: 'x',
      contentType: 'text/plain',
    });
  });
});

describe('testAutomationTrigger', () => {
  it('returns first whether the automation is enabled', async () => {
    const { uid, ...rest } = await make({
      triggers: [webhookTrigger(hook.uid), webhookTrigger(hook.uid, { action: ['closed'] })],
    });
    expect(await saved(uid, 0, { delivery_id: delivery })).toEqual({
      would_trigger: true,
      verdict: 'Would trigger',
      checks: [passed('enabled'), passed('webhook'), passed('payload')],
    });
    expect((await saved(uid, 1, { delivery_id: delivery })).checks).toEqual([
      passed('enabled'),
      passed('webhook'),
      failed('payload'),
    ]);
    await fixture.requestAsAdmin(200, `PUT ${automationsOf(hook.factoryUid)}/${uid}`, { ...rest, enabled: false });
    expect(await saved(uid, 0, { payload: 1 })).toEqual({
      would_trigger: false,
      verdict: 'Would not trigger',
      checks: [failed('enabled'), passed('webhook'), passed('payload')],
    });
  });

  it('fails at a webhook that has been deleted', async () => {
    const { uid } = await make({ triggers: [webhookTrigger(hook.uid)] });
    await fixture.requestAsAdmin(204, `DELETE /factories/${hook.factoryUid}/webhooks/${hook.uid}`);
    const { checks } = await saved(uid, 0, { payload: 1 });
    expect(checks).toEqual([
      passed('enabled'),
      failed('webhook', expect.stringContaining('deleted')),
      passed('payload'),
    ]);
  });

  it('starts no run and stores nothing', async () => {
    const { uid } = await make({ triggers: [webhookTrigger(hook.uid)] });
    await saved(uid, 0, { delivery_id: delivery });
    const [row] = await fixture.database.query(
      `SELECT (SELECT count(*)::int FROM runs) AS runs, evaluated_at FROM webhook_deliveries WHERE id = $1`,
      [delivery],
    );
    expect(row).toEqual({ runs: 0, evaluated_at: null });
  });

  it('rejects invalid fields with 400, an unknown uid with 404, and invalid bodies with 413 and 415', async () => {
    const { uid } = await make({ triggers: [webhookTrigger(hook.uid)] });
    await saved(uid, 0, {}, 400);
    await saved(uid, 0, { delivery_id: NO_DELIVERY }, 400);
    for (const index of [1, 20, '00', '-1', 'x', '99999999999']) await saved(uid, index, { payload: 1 }, 404);
    await saved('0'.repeat(22), 0, { payload: 1 }, 404);
    await saved(uid, 0, { payload: 'x'.repeat(1_100_000) }, 413);
    await fixture.request(415, `POST ${automationsOf(hook.factoryUid)}/${uid}/triggers/0/test`, {
      token: fixture.admin.token,
      body: 'x',
      contentType: 'text/plain',
    });
    for (const { token } of [fixture.member, fixture.viewer])
      await fixture.request(403, `POST ${automationsOf(hook.factoryUid)}/${uid}/triggers/0/test`, {
        token,
        body: { payload: 1 },
      });
  });
});
