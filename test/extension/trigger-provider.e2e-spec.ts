import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal, WebhookBuilder } from '#testing';
import { type FiringProcess, startFiring } from '../api/automations/firing-process.js';
import { Deployments, DeployTriggerModule } from './deploy-trigger.js';

let api: TestApi;
let processor: FiringProcess;
let admin: TestPrincipal;
let scope: { factoryUid: string; teamUid: string };

beforeAll(async () => {
  api = await startTestApi({ modules: [DeployTriggerModule] });
  processor = await startFiring(api.settings, [DeployTriggerModule]);
  scope = await new WebhookBuilder(api.database, api.settings).factory();
  admin = await api.identities.user({ [scope.teamUid]: 'admin' });
});
afterAll(async () => {
  await processor.close();
  await api.close();
});

const call = (status: number, method: string, path: string, body?: object) =>
  api.request(status, `${method} /factories/${scope.factoryUid}${path}`, { token: admin.token, body });

const TRIGGER = { provider: 'deploy', event: 'finished', environment: 'production', failed_only: true };
const automation = (trigger: object) => ({ name: 'roll back', enabled: true, prompt: 'Why?', triggers: [trigger] });

it('stores, validates, tests and fires a trigger whose provider is registered outside of the libraries', async () => {
  const { uid } = (await call(201, 'POST', '/automations', automation(TRIGGER))).body;
  expect((await call(200, 'GET', `/automations/${uid}`)).body.triggers).toEqual([TRIGGER]);

  const rejected = (await call(400, 'POST', '/automations', automation({ ...TRIGGER, environment: 'moon' }))).body;
  expect(rejected.errors).toEqual([{ pointer: '/triggers/0/environment', detail: 'must be staging or production' }]);
  const unknown = (await call(400, 'POST', '/automations', automation({ ...TRIGGER, provider: 'smoke' }))).body;
  expect(unknown.detail).toContain('deploy');

  const tested = await call(200, 'POST', `/automations/${uid}/triggers/0/test`, { payload: { failed: false } });
  expect(tested.body).toMatchObject({
    would_trigger: false,
    checks: [
      { check: 'enabled', passed: true },
      { check: 'outcome', passed: false, reason: 'The deployment succeeded.' },
    ],
  });

  const deployments = processor.get(Deployments);
  const production = { environment: 'production', failed: true };
  expect(await deployments.finished(scope, { id: '1', ...production, failed: false })).toMatchObject([
    { matched: false },
  ]);
  expect(await deployments.finished(scope, { id: '2', environment: 'staging', failed: true })).toEqual([]);
  const [result] = await deployments.finished(scope, { id: '3', ...production });
  const [again] = await deployments.finished(scope, { id: '3', ...production });
  expect(result).toMatchObject({ automationUid: uid, matched: true, runId: expect.any(String) });
  expect(again).toEqual(result);
  const run = (await api.request(200, `GET /agent/runs/${result?.runId}`, { token: admin.token })).body;
  expect(run).toMatchObject({ source: 'ORCHESTRATION', metadata: { automation_id: uid, deployment: '3' } });
  expect(run.prompt).toContain('- Deployment: 3 to production');
});

it('includes a registered trigger provider in the JSON schema of factory files', async () => {
  const { body } = await api.request(200, 'GET /factory-files/schemas/v1alpha1', { token: admin.token });
  expect(JSON.stringify(body)).toContain('"failed_only"');
});
