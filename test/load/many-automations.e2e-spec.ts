import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { AutomationBuilder, DeliveryBuilder, startTestApi, type TestApi, WebhookBuilder } from '#testing';
import { Database } from '#platform/persistence';
import { type FiringProcess, startFiring } from '../api/automations/firing-process.js';

const AUTOMATIONS = 1000;
const MATCHING = 100;
/** Of processor time of this process: other test files load the machine meanwhile. */
const PROMISE_MS = 2000;

let api: TestApi;
let processor: FiringProcess;

beforeAll(async () => {
  api = await startTestApi();
  processor = await startFiring(api.settings);
});
afterAll(async () => {
  await processor.close();
  await api.close();
});

it(`evaluates a delivery against ${AUTOMATIONS} automations, of which ${MATCHING} match, without loading the others' prompts`, async () => {
  const hook = await new WebhookBuilder(api.database, api.settings).webhook();
  const isWanted = (index: number): boolean => index % (AUTOMATIONS / MATCHING) === 0;
  await new AutomationBuilder(api.database).buildMany(AUTOMATIONS, (index) => ({
    ...hook,
    prompt: `${isWanted(index) ? 'wanted' : 'unwanted'} ${'x'.repeat(20_000)}`,
    onWebhooks: [{ uid: hook.uid, payload: { kind: [isWanted(index) ? 'wanted' : `unwanted ${index}`] } }],
  }));
  const log = new DeliveryBuilder(api.database);
  const { id } = await log.build(hook.id, { body: '{"kind":"wanted"}' });

  const answers: string[] = [];
  const database = processor.get(Database);
  const query = database.query.bind(database);
  const spy = vi.spyOn(database, 'query').mockImplementation(async (...asked) => {
    const rows = await query(...asked);
    for (const row of rows) for (const value of Object.values(row)) if (typeof value === 'string') answers.push(value);
    return rows;
  });
  const before = process.cpuUsage();
  expect(await processor.evaluateAll()).toBe(1);
  const { user, system } = process.cpuUsage(before);
  spy.mockRestore();

  expect((user + system) / 1000).toBeLessThan(PROMISE_MS);
  const prompts = answers.filter((value) => /^(?:un)?wanted x/.test(value));
  expect(prompts.filter((prompt) => prompt.startsWith('wanted'))).toHaveLength(MATCHING);
  expect(prompts).toHaveLength(MATCHING);
  const [{ runs, results } = { runs: 0, results: 0 }] = await api.database.query<{ runs: number; results: number }>(
    `SELECT (SELECT count(*)::int FROM headrace.runs WHERE metadata->>'delivery_id' = $1::text) AS runs,
            (SELECT jsonb_array_length(results) FROM headrace.webhook_deliveries WHERE id = $1::uuid) AS results`,
    [id],
  );
  expect({ runs, results }).toEqual({ runs: MATCHING, results: AUTOMATIONS });
});
