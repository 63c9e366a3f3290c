import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SendAnswers } from '#domain/answers';
import { TestRunner } from '#testing';
import { type FiringProcess, startFiring } from '../automations/firing-process.js';
import { ApiFixture } from '../../support/api-fixture.js';
import { GithubApiDouble } from '../../support/github-api.js';
import { githubDelivery } from '../../support/github-deliveries.js';

const OWNER = 'Codertocat';
const REPOSITORY = `${OWNER}/Hello-World`;
const URL_OF_REPOSITORY = `https://github.com/${REPOSITORY}.git`;
const PERMISSIONS = { contents: 'write', issues: 'write', metadata: 'read', pull_requests: 'write' };
const SUSPENDED = `The installation of the GitHub App %d on ${REPOSITORY} is suspended.`;

let fixture: ApiFixture;
let processor: FiringProcess;
let github: GithubApiDouble;
let publicKey: NonNullable<GithubApiDouble['app']>['publicKey'];
/** Another one for each test: what an earlier one has found is not in use. */
let app = 4711;
let environment: string;

beforeAll(async () => {
  github = await GithubApiDouble.start('token-of-a-user', REPOSITORY);
  fixture = await ApiFixture.start({ settings: { githubApiUrl: github.url, publicUrl: 'https://runs.example.com' } });
  processor = await startFiring(fixture.api.settings);
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  publicKey = keys.publicKey;
  await fixture.putSecret('key', keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
});
afterAll(async () => {
  await processor.close();
  await fixture.close();
  await github.stop();
});
beforeEach(async () => {
  app += 1;
  github.app = { id: app, publicKey, permissions: PERMISSIONS, isInstalled: true, tokenMs: 3_600_000 };
  github.requests.length = 0;
  github.violations.length = 0;
  environment = await fixture.createEnvironment(
    { github_repos: [{ owner: OWNER, repo: 'Hello-World', secret_name: 'key', github_app_id: app }] },
    { team: true },
  );
});

const suspend = (): void => {
  if (github.app) github.app.isSuspended = true;
};
const unsuspend = (): void => {
  if (github.app) github.app.isSuspended = false;
};
const problem = (): string => SUSPENDED.replace('%d', String(app));

const create = (): Promise<string> => fixture.createRun({ team: true, config: { environment_id: environment } });
const start = async (): Promise<TestRunner> => {
  const runner = await TestRunner.take(fixture.api, await create());
  await runner.startAgent();
  return runner;
};
/** What a runner gets that needs a credential now. */
async function ask(runner: TestRunner): Promise<{ credential?: { password: string }; problem?: string }> {
  const { execution_id: id, lease_epoch } = runner.assignment;
  const path = `POST /runner/v1/executions/${id}/repository-credential`;
  const { body } = await fixture.api.request(200, path, {
    token: runner.token,
    body: { lease_epoch, url: URL_OF_REPOSITORY },
  });
  return body;
}
/** Delivers an event of the App to a webhook of the factory. */
async function deliver(kind: string, action: string, { appId = app, factoryUid = '' } = {}): Promise<void> {
  const factory = factoryUid === '' ? await fixture.createFactory() : factoryUid;
  const hook = await fixture.webhooks.webhook({
    factoryUid: factory,
    authMode: 'signature',
    signatureScheme: 'github',
  });
  const account = { login: OWNER.toLowerCase() };
  await fixture.deliveries.build(hook.id, githubDelivery(kind, action, { installation: { app_id: appId, account } }));
  await processor.evaluateAll();
}

describe('an installation of a GitHub App', () => {
  it.each([
    ['is suspended', suspend, problem],
    [
      'was removed',
      () => {
        if (github.app) github.app.isInstalled = false;
      },
      () => `The GitHub App ${app} is not installed on ${REPOSITORY}, or does not exist (404).`,
    ],
    [
      'lacks a permission that was revoked',
      () => {
        github.app = github.app && { ...github.app, permissions: { metadata: 'read' } };
      },
      () => `The installation of the GitHub App ${app} on ${REPOSITORY} lacks the permission \`contents\`.`,
    ],
  ])('that %s ends a run before its set-up, with a message', async (_what, change, message) => {
    change();
    const runId = await create();
    await expect(TestRunner.take(fixture.api, runId)).rejects.toThrow();
    const run = await fixture.getRun(runId, fixture.admin);
    expect(run).toMatchObject({ state: 'FAILED', status_message: { error_code: 'environment_setup_failed' } });
    expect(run.status_message?.message).toContain(message());
    expect(github.violations).toEqual([]);
  });

  it.each([
    ['installation', 'suspend'],
    ['installation', 'deleted'],
    ['installation', 'new_permissions_accepted'],
    ['installation_repositories', 'removed'],
  ])('whose event %s.%s was delivered has no token from before in use', async (kind, action) => {
    const runner = await start();
    const first = await ask(runner);
    expect(first.credential?.password).toMatch(/^ghs_/);
    expect(await ask(runner)).toEqual(first);
    await deliver(kind, action);
    const second = await ask(runner);
    expect(second.credential?.password).toMatch(/^ghs_/);
    expect(second).not.toEqual(first);
    suspend();
    await deliver(kind, action);
    expect((await ask(runner)).problem).toContain(problem());
    unsuspend();
    await deliver('installation', 'unsuspend');
    expect((await ask(runner)).credential?.password).toMatch(/^ghs_/);
    expect(github.violations).toEqual([]);
  });

  it('keeps its tokens when a webhook of another team, or an event of another App, reports a change', async () => {
    const runner = await start();
    const first = await ask(runner);
    await deliver('installation', 'suspend', { appId: 1 });
    const other = await fixture.createFactory({ teamUid: fixture.otherTeam });
    await deliver('installation', 'suspend', { factoryUid: other });
    expect(await ask(runner)).toEqual(first);
  });

  it('that is suspended is asked about after pauses that grow, and not for each request of an agent', async () => {
    const runner = await start();
    suspend();
    await deliver('installation', 'suspend');
    const before = github.requests.length;
    for (let count = 0; count < 20; count += 1) expect((await ask(runner)).problem).toContain(problem());
    expect(github.requests.length - before).toBeLessThanOrEqual(3);
    const asked = async (ms: number): Promise<boolean> => {
      const earlier = github.requests.length;
      await fixture.api.advanceClock(ms);
      await ask(runner);
      return github.requests.length > earlier;
    };
    expect(await asked(1_001)).toBe(true);
    expect(await asked(1_001)).toBe(false);
    expect(await asked(1_000)).toBe(true);
  });

  it('that is suspended between two answers ends the answers of the run, after its token was requested again', async () => {
    const factoryUid = await fixture.createFactory();
    const hook = await fixture.webhooks.webhook({ factoryUid, authMode: 'signature', signatureScheme: 'github' });
    await fixture.createAutomation(
      {
        name: 'fix',
        triggers: [{ provider: 'github', event: 'issue_opened' }],
        agent_config: { environment_id: environment },
      },
      factoryUid,
    );
    const { id } = await fixture.deliveries.build(hook.id, githubDelivery('issues', 'opened'));
    await processor.evaluateAll();
    const path = `/factories/${factoryUid}/webhooks/${hook.uid}/deliveries/${id}`;
    const runId = (await fixture.requestAsAdmin(200, `GET ${path}`)).automation_results[0].run_id as string;
    const answers = processor.get(SendAnswers);
    const sendAll = async (): Promise<void> => {
      for (const answer of await answers.claim(10)) await answers.send(answer, AbortSignal.timeout(30_000));
    };
    await sendAll();
    expect(github.answers.comments).toHaveLength(1);
    const runner = await TestRunner.take(fixture.api, runId);
    suspend();
    await runner.startAgent();
    const failures = async () =>
      (await fixture.requestAsAdmin(200, `GET /agent/runs/${runId}/timeline`)).events.filter(
        ({ event_type: type }: { event_type: string }) => type === 'answer_failed',
      );
    for (let attempt = 0; attempt < 8 && (await failures()).length === 0; attempt += 1) {
      await fixture.api.advanceClock(600_000);
      await sendAll();
    }
    expect((await failures())[0].payload.message).toContain(problem());
    const before = github.requests.length;
    await fixture.api.advanceClock(600_000);
    await sendAll();
    expect(github.requests.length).toBe(before);
  });
});
