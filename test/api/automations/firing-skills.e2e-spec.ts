import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ResolvedSkill } from '#domain/agents';
import {
  AutomationBuilder,
  type BuiltWebhook,
  DeliveryBuilder,
  offeredSkill,
  offerSkills,
  startTestApi,
  type TestApi,
  type TestPrincipal,
  WebhookBuilder,
} from '#testing';
import { type FiringProcess, startFiring } from './firing-process.js';

const ANSWERS: Record<string, ResolvedSkill> = {
  'a/b:fix': { kind: 'found', skill: offeredSkill('a/b:fix', { body: 'Fix $0: $ARGUMENTS' }) },
  'a/b:gone': { kind: 'missing', candidates: ['a/b:skills/fix/SKILL.md'] },
};

let api: TestApi;
let processor: FiringProcess;
let hook: BuiltWebhook;
let admin: TestPrincipal;
let asked: string[];

beforeAll(async () => {
  api = await startTestApi();
  processor = await startFiring(api.settings);
  asked = offerSkills(processor, ANSWERS);
  hook = await new WebhookBuilder(api.database, api.settings).webhook();
  admin = await api.identities.user({ [hook.teamUid]: 'admin' });
});
afterAll(async () => {
  await processor.close();
  await api.close();
});

const automation = (name: string, skill: string) =>
  new AutomationBuilder(api.database).build({
    ...hook,
    name,
    prompt: 'parser {{ payload.title }}',
    agentConfig: { skill_spec: skill },
    onWebhooks: [{ uid: hook.uid }],
  });
const resultsOf = async (deliveryId: string) => {
  const path = `/factories/${hook.factoryUid}/webhooks/${hook.uid}/deliveries/${deliveryId}`;
  return (await api.request(200, `GET ${path}`, { token: admin.token })).body.automation_results;
};

it('the skill of an automation gets the prompt and no data of the event; a missing skill is reported', async () => {
  const [fix, gone] = [await automation('fix', 'a/b:fix'), await automation('gone', 'a/b:gone')];
  const { id } = await new DeliveryBuilder(api.database).build(hook.id, { body: '{"title":"$1 swordfish"}' });
  await processor.evaluateAll();
  const [first, second] = await resultsOf(id);
  expect(first).toMatchObject({ automation_uid: fix.uid, run_id: expect.any(String) });
  expect(second).toEqual({
    automation_uid: gone.uid,
    matched: true,
    reason: expect.stringMatching(
      /No run was started: config\.skill_spec names no skill .* a\/b:skills\/fix\/SKILL\.md/,
    ),
  });
  const { body: run } = await api.request(200, `GET /agent/runs/${first.run_id}`, { token: admin.token });
  expect(run.agent_config.base_prompt).toBe('Fix parser: parser {{ payload.title }}');
  expect(run.prompt).toContain('swordfish');
  expect(run.agent_skill).toMatchObject({ name: 'fix' });
});

it('a run starts later when the repository of its skill does not respond at first', async () => {
  const { uid } = await automation('slow', 'a/b:slow');
  ANSWERS['a/b:slow'] = { kind: 'unreadable', detail: 'It does not answer.', retryable: true };
  const { id } = await new DeliveryBuilder(api.database).build(hook.id);
  await processor.evaluateAll();
  expect(await resultsOf(id)).toBeUndefined();
  delete ANSWERS['a/b:slow'];
  asked.length = 0;
  await api.database.query('UPDATE headrace.webhook_deliveries SET evaluate_at = headrace.now() WHERE id = $1', [id]);
  await processor.evaluateAll();
  const results = (await resultsOf(id)) as { automation_uid: string; run_id?: string }[];
  expect(results.find(({ automation_uid }) => automation_uid === uid)?.run_id).toEqual(expect.any(String));
  // Those that were started before are not looked up again; what could not be had is.
  expect(asked.sort()).toEqual(['a/b:gone', 'a/b:slow']);
});
