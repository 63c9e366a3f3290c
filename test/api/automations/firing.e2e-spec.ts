import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { newUid } from '#platform/kernel';
import { CreateRun } from '#domain/runs';
import {
  AutomationBuilder,
  type BuiltWebhook,
  DeliveryBuilder,
  startTestApi,
  type TestApi,
  type TestPrincipal,
  WebhookBuilder,
} from '#testing';
import { type FiringProcess, startFiring } from './firing-process.js';

let api: TestApi;
let processor: FiringProcess;
let webhooks: WebhookBuilder;
let log: DeliveryBuilder;
let automations: AutomationBuilder;
let hook: BuiltWebhook;
let admin: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  webhooks = new WebhookBuilder(api.database, api.settings);
  log = new DeliveryBuilder(api.database);
  automations = new AutomationBuilder(api.database);
  processor = await startFiring(api.settings);
});
afterAll(async () => {
  await processor.close();
  await api.close();
});
beforeEach(async () => {
  hook = await webhooks.webhook({ name: 'ci "main"' });
  admin = await api.identities.user({ [hook.teamUid]: 'admin' });
});

const automation = (shape: Partial<Parameters<AutomationBuilder['build']>[0]> = {}) =>
  automations.build({ ...hook, onWebhooks: [{ uid: hook.uid }], ...shape });
const resultsOf = async (deliveryId: string) => {
  const path = `/factories/${hook.factoryUid}/webhooks/${hook.uid}/deliveries/${deliveryId}`;
  return (await api.request(200, `GET ${path}`, { token: admin.token })).body.automation_results;
};
const runsOf = async (query = '') =>
  (await api.request(200, `GET /agent/runs?limit=500&${query}`, { token: admin.token })).body.runs;

describe('an accepted delivery', () => {
  it('starts one run for each enabled automation with a matching trigger, and stores the reason', async () => {
    const push = { action: ['push'] };
    const [both, other, off, twice] = [
      await automation({ name: 'both', onWebhooks: [{ uid: hook.uid, payload: push }] }),
      await automation({ name: 'other', onWebhooks: [{ uid: hook.uid, payload: { action: ['closed'] } }] }),
      await automation({ name: 'off', enabled: false }),
      await automation({ name: 'twice', onWebhooks: [{ uid: hook.uid, payload: push }, { uid: hook.uid }] }),
    ];
    const { id } = await log.build(hook.id, { body: '{"action":"push"}' });
    expect(await processor.evaluateAll()).toBe(1);
    const runs = await runsOf();
    expect(runs.map(({ title }: { title: string }) => title).sort()).toEqual(['both', 'twice']);
    const runOf = (title: string): string => runs.find((run: { title: string }) => run.title === title).run_id;
    expect(await resultsOf(id)).toEqual([
      { automation_uid: both.uid, matched: true, run_id: runOf('both'), reason: expect.any(String) },
      { automation_uid: other.uid, matched: false, reason: expect.stringContaining('"push"') },
      { automation_uid: off.uid, matched: false, reason: 'The automation is disabled.' },
      { automation_uid: twice.uid, matched: true, run_id: runOf('twice'), reason: expect.any(String) },
    ]);
  });

  it('starts runs of the team that contain their origin', async () => {
    const author = await api.identities.user({ [hook.teamUid]: 'admin' });
    const { uid } = await automation({ name: 'Fix it', authorUid: author.uid, agentConfig: { model_id: 'auto' } });
    const body = ' {"title": "Grüße",\n "n": 1.0} ';
    const { id } = await log.build(hook.id, { body });
    await processor.evaluateAll();
    const [run] = await runsOf(`automation_id=${uid}`);
    expect(run).toMatchObject({
      title: 'Fix it',
      state: 'QUEUED',
      source: 'CUSTOM_WEBHOOK',
      metadata: { automation_id: uid, webhook_uid: hook.uid, delivery_id: id, factory_uid: hook.factoryUid },
      creator: { type: 'user', uid: author.uid },
      scope: { type: 'Team', uid: hook.teamUid },
      agent_config: { model_id: 'auto' },
    });
    expect(run).toMatchObject({ factory_uid: hook.factoryUid, finished_at: null, root_run_id: run.run_id });
    const { body: whole } = await api.request(200, `GET /agent/runs/${run.run_id}`, { token: admin.token });
    expect(whole.submitted_prompt).toBe('Look at the payload.');
    expect(whole.prompt).toContain(`${whole.submitted_prompt}\n`);
    expect(run.trigger_url).toBe(
      `${api.settings.publicUrl}/api/v1/factories/${hook.factoryUid}/webhooks/${hook.uid}/deliveries/${id}`,
    );
    const [attachment] = await api.database.query<{ file_name: string; mime_type: string; size_bytes: number }>(
      'SELECT file_name, mime_type, size_bytes::int FROM headrace.run_attachments WHERE run_id = $1',
      [run.run_id],
    );
    expect(attachment).toEqual({
      file_name: 'event-payload.json',
      mime_type: 'application/json',
      size_bytes: Buffer.byteLength(body),
    });
  });

  it('starts runs that the team executes, also when an agent has saved the automation', async () => {
    const { uid: agent } = (
      await api.request(201, 'POST /agent/identities', {
        token: admin.token,
        body: { name: 'saver', prompt: 'You save.', available: false },
      })
    ).body;
    const { uid } = await automation({ authorUid: agent, authorType: 'service_account' });
    await log.build(hook.id);
    await processor.evaluateAll();
    const [run] = await runsOf(`automation_id=${uid}`);
    expect(run).toMatchObject({ creator: { type: 'service_account', uid: agent } });
    expect(run.agent_config?.base_prompt).toBeUndefined();
  });

  it('that is redelivered starts runs again', async () => {
    const { uid } = await automation();
    const { id } = await log.build(hook.id);
    await processor.evaluateAll();
    const path = `/factories/${hook.factoryUid}/webhooks/${hook.uid}/deliveries/${id}/redeliver`;
    const again = (await api.request(202, `POST ${path}`, { token: admin.token })).body.delivery_id;
    await processor.evaluateAll();
    const runs = await runsOf(`automation_id=${uid}`);
    expect(runs.map((run: { metadata: { delivery_id: string } }) => run.metadata.delivery_id).sort()).toEqual(
      [id, again].sort(),
    );
  });

  it('starts no run for another webhook or another factory', async () => {
    const second = await webhooks.webhook({ factoryUid: hook.factoryUid });
    await automation({ onWebhooks: [{ uid: second.uid }] });
    const stranger = await webhooks.webhook();
    await automations.build({ ...stranger, onWebhooks: [{ uid: hook.uid }] });
    const { id } = await log.build(hook.id);
    await processor.evaluateAll();
    expect(await resultsOf(id)).toEqual([]);
    expect(await runsOf()).toEqual([]);
  });

  it('whose run is rejected stores the reason, is not retried, and the other runs start', async () => {
    const gone = await automation({ name: 'gone', agentIdentityUid: newUid() });
    const fine = await automation({ name: 'fine' });
    const { id } = await log.build(hook.id);
    await processor.evaluateAll();
    const [first, second] = await resultsOf(id);
    expect(first).toEqual({
      automation_uid: gone.uid,
      matched: true,
      reason: expect.stringMatching(
        /No run was started: `agent_identity_uid` names an agent identity that was not found/,
      ),
    });
    expect(second).toMatchObject({ automation_uid: fine.uid, matched: true, run_id: expect.any(String) });
    expect(await processor.evaluateAll()).toBe(0);
  });

  it('starts each run once, also after failures and while the automation is updated', async () => {
    const { uid } = await automation();
    const { id } = await log.build(hook.id);
    await processor.evaluateAll();
    await api.database.query('UPDATE headrace.automations SET author_uid = $2, version = version + 1 WHERE uid = $1', [
      uid,
      newUid(),
    ]);
    const before = await resultsOf(id);
    await api.database.query(
      'UPDATE headrace.webhook_deliveries SET evaluated_at = NULL, results = NULL, evaluate_at = headrace.now() WHERE id = $1',
      [id],
    );
    expect(await processor.evaluateAll()).toBe(1);
    expect(await resultsOf(id)).toEqual(before);
    expect(await runsOf(`automation_id=${uid}`)).toHaveLength(1);
  });

  it('starts the other runs when one fails, and retries only that one', async () => {
    const sealed = { mcp_servers: { tools: { command: 'tools', env: { KEY: 'not sealed at all' } } } };
    const broken = await automation({ name: 'broken', agentConfig: sealed });
    const others = [];
    for (let n = 0; n < 80; n += 1) others.push(await automation());
    const { id } = await log.build(hook.id);
    await processor.evaluateAll();
    const started = await runsOf(`factory_uid=${hook.factoryUid}`);
    expect(started).toHaveLength(others.length);
    expect(await resultsOf(id)).toBeUndefined();

    await api.database.query(
      'UPDATE headrace.automations SET agent_config = NULL, version = version + 1 WHERE uid = $1',
      [broken.uid],
    );
    await api.database.query('UPDATE headrace.webhook_deliveries SET evaluate_at = headrace.now() WHERE id = $1', [id]);
    const create = vi.spyOn(processor.get(CreateRun), 'execute');
    expect(await processor.evaluateAll()).toBe(1);
    expect(create).toHaveBeenCalledTimes(1);
    create.mockRestore();
    const results = await resultsOf(id);
    expect(results.map(({ automation_uid: uid }: { automation_uid: string }) => uid)).toEqual([
      broken.uid,
      ...others.map(({ uid }) => uid),
    ]);
    const runs = results.map(({ run_id: run }: { run_id: string }) => run);
    expect(new Set(runs).size).toBe(81);
    expect(runs).toEqual(expect.arrayContaining(started.map(({ run_id: run }: { run_id: string }) => run)));
  });

  it('does not wait for the deliveries of another factory', async () => {
    const flooded = await webhooks.webhook();
    const hooks = [flooded];
    for (let n = 0; n < 9; n += 1) hooks.push(await webhooks.webhook({ factoryUid: flooded.factoryUid }));
    for (const { id } of hooks) await log.buildMany(id, 40);
    const { id } = await log.build(hook.id);
    const order = await evaluationOrder(processor, api, id);
    expect(order.before).toBeLessThanOrEqual(8);
    expect(order.all).toBe(401);
  });
});

/** How many deliveries were evaluated in laps before the one with `deliveryId`. */
async function evaluationOrder(process: FiringProcess, { database }: TestApi, deliveryId: string) {
  const all = await process.evaluateAll();
  const [row] = await database.query<{ before: number }>(
    `SELECT count(*)::int AS before FROM headrace.webhook_deliveries
      WHERE evaluated_at < (SELECT evaluated_at FROM headrace.webhook_deliveries WHERE id = $1)
        AND webhook_id <> (SELECT webhook_id FROM headrace.webhook_deliveries WHERE id = $1)
        AND received_at >= (SELECT received_at FROM headrace.webhook_deliveries WHERE id = $1) - interval '1 minute'
        AND results = '[]'`,
    [deliveryId],
  );
  return { before: row?.before ?? Number.NaN, all };
}
