import { startTestHeadrace, type TestHeadrace } from 'headrace/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import DeployTriggerPlugin from 'headrace-example-trigger-provider';

const TRIGGER = { provider: 'deploy', event: 'finished', environment: 'production', failed_only: true };

let headrace: TestHeadrace;
let factory: string;

beforeAll(async () => {
  headrace = await startTestHeadrace({ plugins: [DeployTriggerPlugin] });
  factory = `/factories/${headrace.factoryUid}`;
}, 60_000);
afterAll(() => headrace.close());

const automation = (trigger: object) => ({ name: 'roll back', enabled: true, prompt: 'Why?', triggers: [trigger] });
const report = async (body: object): Promise<string[]> =>
  (await headrace.request(201, `POST ${factory}/deployments`, { body })).body.run_ids;

it('validates, stores and tests a trigger', async () => {
  const { body: problem } = await headrace.request(400, `POST ${factory}/automations`, {
    body: automation({ ...TRIGGER, environment: 'moon' }),
  });
  expect(problem.errors).toEqual([{ pointer: '/triggers/0/environment', detail: 'must be staging or production' }]);

  const { body } = await headrace.request(201, `POST ${factory}/automations`, { body: automation(TRIGGER) });
  const tested = await headrace.request(200, `POST ${factory}/automations/${body.uid}/triggers/0/test`, {
    body: { payload: { failed: false } },
  });
  expect(tested.body).toMatchObject({ would_trigger: false });
  expect(tested.body.checks.at(-1).reason).toBe('The deployment succeeded.');
});

it('is a part of the JSON Schema of factory files', async () => {
  const { body } = await headrace.request(200, 'GET /factory-files/schemas/v1alpha1');
  expect(JSON.stringify(body)).toContain('"failed_only"');
});

it('starts one run for a deployment that matches, however often it is reported', async () => {
  expect(await report({ id: 'd-1', environment: 'production', failed: false })).toEqual([]);
  expect(await report({ id: 'd-2', environment: 'staging', failed: true })).toEqual([]);
  const [runId] = await report({ id: 'd-3', environment: 'production', failed: true });
  expect(await report({ id: 'd-3', environment: 'production', failed: true })).toEqual([runId]);
  const { body: run } = await headrace.request(200, `GET /agent/runs/${runId}`);
  expect(run.metadata).toMatchObject({ deployment: 'd-3' });
  expect(run.prompt).toContain('- Deployment: d-3 to production');
});
