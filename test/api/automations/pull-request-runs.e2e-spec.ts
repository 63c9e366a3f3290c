import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BuiltWebhook, TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { githubDelivery } from '../../support/github-deliveries.js';
import { type FiringProcess, startFiring } from './firing-process.js';

const REPOSITORY = 'https://github.com/acme/app';
let fixture: ApiFixture;
let processor: FiringProcess;
let hook: BuiltWebhook;
let automation: string;
let environment: string;
let number = 0;
let url: string;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  processor = await startFiring(fixture.api.settings);
  environment = await fixture.createEnvironment({ github_repos: [{ owner: 'acme', repo: 'app' }] }, { team: true });
  await fixture.database.query('UPDATE teams SET max_concurrent_runs = 1000 WHERE uid = $1', [fixture.team]);
});
afterAll(async () => {
  await processor.close();
  await fixture.close();
});
beforeEach(async () => {
  const factoryUid = await fixture.createFactory();
  hook = await fixture.webhooks.webhook({ factoryUid, authMode: 'signature', signatureScheme: 'github' });
  ({ uid: automation } = await fixture.createAutomation(
    { triggers: [{ provider: 'github', event: 'pull_request_reviewed' }], concurrency: { policy: 'continue' } },
    factoryUid,
  ));
  number += 1;
  url = `${REPOSITORY}/pull/${number}`;
});

/** A review of the pull request. Returns the run that gets it. */
async function review(page = url): Promise<string> {
  const event = githubDelivery('pull_request_review', 'submitted', { pull_request: { html_url: page, draft: false } });
  const { id } = await fixture.deliveries.build(hook.id, event);
  await processor.evaluateAll();
  const path = `/factories/${hook.factoryUid}/webhooks/${hook.uid}/deliveries/${id}`;
  const [result] = (await fixture.requestAsAdmin(200, `GET ${path}`)).automation_results;
  return result.run_id as string;
}
const isOfAutomation = async (runId: string): Promise<boolean> =>
  (await fixture.getRun(runId, fixture.admin)).metadata?.automation_id === automation;

async function take(runId: string): Promise<TestRunner> {
  const runner = await TestRunner.take(fixture.api, runId);
  await runner.startAgent();
  await runner.report(['turn_started', { turn_id: 't', prompt: 'Go.' }]);
  return runner;
}
const start = async (config: object = { environment_id: environment }): Promise<TestRunner> =>
  take(await fixture.createRun({ team: true, config }));
let keys = 0;
async function report(runner: TestRunner, fields: object = { created_by_run: true }): Promise<void> {
  const reference = { source_key: `pr-${(keys += 1)}`, artifact_type: 'PULL_REQUEST', url, branch: 'fix', ...fields };
  await runner.call(200, 'POST artifacts', {}, { lease_epoch: runner.assignment.lease_epoch, ...reference });
}
async function end(runner: TestRunner): Promise<void> {
  await runner.report(['turn_ended', { turn_id: 't', stop_reason: 'end_turn' }]);
  await runner.finish('closed');
}

describe('the events of a pull request', () => {
  it('continue the run whose runner says that the run has created it, whatever the agent reports before or after', async () => {
    const runner = await start();
    await report(runner, { status: 'draft' });
    await report(runner);
    await report(runner, { status: 'open' });
    expect(await review()).toBe(runner.assignment.run_id);
  });

  it('do not continue a run whose agent has only reported the address, also before the pull request exists', async () => {
    const runner = await start();
    await report(runner, {});
    const other = await start();
    expect(await isOfAutomation(await review())).toBe(true);
    url = `${REPOSITORY}/pull/9000`;
    await report(runner, {});
    expect(await isOfAutomation(await review())).toBe(true);
    await report(other);
    expect(await review()).toBe(other.assignment.run_id);
  });

  it.each([
    [
      'in another repository of its server',
      () => ({ environment_id: environment }),
      'https://github.com/acme/private/pull/1',
    ],
    ['on another server', () => ({ environment_id: environment }), 'https://github.example.com/acme/app/pull/1'],
    ['without an environment', () => ({}), `${REPOSITORY}/pull/8000`],
  ])('do not continue a run whose runner claims one %s', async (_what, config, page) => {
    url = page;
    const runner = await start(config());
    await report(runner);
    expect(await isOfAutomation(await review())).toBe(true);
  });

  it('continue a run in the repository that it names, which a pattern of its environment allows', async () => {
    const any = await fixture.createEnvironment({ github_repos: [{ owner: 'acme', repo: '*' }] }, { team: true });
    const runner = await start({ environment_id: any, repository: { url: `${REPOSITORY}.git` } });
    await report(runner);
    expect(await review()).toBe(runner.assignment.run_id);
    url = `https://github.com/acme/other/pull/${number}`;
    await report(runner);
    expect(await isOfAutomation(await review())).toBe(true);
  });

  it('are not taken over by a later run, or by an earlier one that claims it later', async () => {
    const earlier = await start();
    await report(earlier, {});
    await fixture.api.advanceClock(1000);
    const runner = await start();
    await report(runner);
    await fixture.api.advanceClock(1000);
    await report(await start());
    await report(earlier);
    expect(await review()).toBe(runner.assignment.run_id);
  });

  it('continue the newest run that works on it for a person: a continued conversation, a rerun, unless it was cancelled', async () => {
    const first = await start();
    await report(first);
    await end(first);
    const { run_id: runId } = first.assignment;
    const { conversation_id: conversation } = await fixture.getRun(runId);
    await fixture.api.advanceClock(1000);
    const second = await take(
      await fixture.createRun({ team: true, conversation_id: conversation, config: { environment_id: environment } }),
    );
    expect(await review()).toBe(runId);
    await report(second);
    expect(await review()).toBe(second.assignment.run_id);
    await fixture.api.advanceClock(1000);
    const rerun = await fixture.request(200, `POST /agent/runs/${runId}/rerun`, { token: fixture.member.token });
    const third = await take(rerun.body.run_id);
    await report(third);
    expect(await review()).toBe(third.assignment.run_id);
    await fixture.request(200, `POST /agent/runs/${third.assignment.run_id}/cancel`, { token: fixture.member.token });
    expect(await review()).toBe(second.assignment.run_id);
  });

  it('rejects the mark for other references', async () => {
    const runner = await start();
    const reference = { source_key: 'x', artifact_type: 'EXTERNAL_REFERENCE', reference_type: 'ticket', url };
    const body = { lease_epoch: runner.assignment.lease_epoch, created_by_run: true, ...reference };
    expect((await runner.call(400, 'POST artifacts', {}, body)).body.errors).toMatchObject([
      { pointer: '/created_by_run' },
    ]);
  });
});
