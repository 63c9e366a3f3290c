import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SendComments } from '#domain/answers';
import { type BuiltWebhook, TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { GithubApiDouble } from '../../support/github-api.js';
import { githubDelivery } from '../../support/github-deliveries.js';
import { GitlabApiDouble } from '../../support/gitlab-api.js';
import { SlackApiDouble } from '../../support/slack-api.js';
import { CHANNEL, mention } from '../../support/slack-deliveries.js';
import { type FiringProcess, startFiring } from './firing-process.js';

const TOKEN = 'token-of-a-user';
const REPOSITORY = 'Codertocat/Hello-World';
const LEASE_MS = 31_000;

let fixture: ApiFixture;
let github: GithubApiDouble;
let gitlab: GitlabApiDouble;
let slack: SlackApiDouble;
let processor: FiringProcess;
let environment: string;

beforeAll(async () => {
  github = await GithubApiDouble.start(TOKEN, REPOSITORY);
  gitlab = await GitlabApiDouble.start(TOKEN, 'group/project');
  slack = await SlackApiDouble.start(TOKEN, [CHANNEL]);
  fixture = await ApiFixture.start({
    settings: {
      githubApiUrl: github.url,
      gitlabUrl: gitlab.url,
      slackApiUrl: slack.url,
      publicUrl: 'https://runs.example.com',
    },
  });
  processor = await startFiring(fixture.api.settings);
  await fixture.putSecret('token', TOKEN);
  const [owner, repo] = REPOSITORY.split('/');
  environment = await fixture.createEnvironment(
    {
      github_repos: [{ owner, repo, secret_name: 'token' }],
      git_repos: [{ url: `${gitlab.url}/group/project.git`, secret_name: 'token', username: 'oauth2' }],
    },
    { team: true },
  );
});
afterAll(async () => {
  await processor.close();
  await fixture.close();
  await Promise.all([github.stop(), gitlab.stop(), slack.stop()]);
});
beforeEach(() => {
  github.answers.comments.length = 0;
  github.answers.forbidden = null;
  gitlab.notes.length = 0;
  slack.messages.length = 0;
});

type Provider = 'github' | 'gitlab' | 'slack';
const SCHEMES = { github: 'github', gitlab: 'gitlab_token', slack: 'slack' } as const;
const TRIGGERS = {
  github: { event: 'issue_opened' },
  gitlab: { event: 'issue_opened', filter: { senders: ['ada'] } },
  slack: { event: 'mention' },
} as const;

/** A run whose agent works, for an issue or a thread. */
async function started(provider: Provider, fields: object = {}): Promise<TestRunner> {
  const factoryUid = await fixture.createFactory();
  const hook: BuiltWebhook = await fixture.webhooks.webhook({
    factoryUid,
    authMode: 'signature',
    signatureScheme: SCHEMES[provider],
  });
  await fixture.createAutomation(
    {
      name: 'fix',
      triggers: [{ provider, ...TRIGGERS[provider] }],
      agent_config: { environment_id: environment },
      ...(provider === 'slack' && { answers: { secret_name: 'token' } }),
      ...fields,
    },
    factoryUid,
  );
  const payload = {
    object_kind: 'issue',
    user: { username: 'ada' },
    project: { path_with_namespace: 'group/project', web_url: `${gitlab.url}/group/project` },
    object_attributes: { iid: 7, action: 'open' },
  };
  const deliveries = {
    github: () => githubDelivery('issues', 'opened'),
    gitlab: () => ({ body: JSON.stringify(payload), headers: { 'x-gitlab-event': 'Issue Hook' } }),
    slack: () => ({ body: JSON.stringify(mention()), headers: {} }),
  };
  const delivery = deliveries[provider]();
  const [id = ''] = await fixture.deliveries.buildMany(hook.id, 1, delivery);
  await processor.evaluateAll();
  const path = `/factories/${factoryUid}/webhooks/${hook.uid}/deliveries/${id}`;
  const { automation_results: results } = await fixture.requestAsAdmin(200, `GET ${path}`);
  const [{ run_id: runId }] = results as [{ run_id: string }];
  const runner = await TestRunner.take(fixture.api, runId);
  await runner.startAgent();
  return runner;
}

const comment = async (runner: TestRunner, text: string, key: string = randomUUID(), wait = 0) =>
  (await runner.call(200, 'POST comments', {}, { lease_epoch: runner.assignment.lease_epoch, key, text, wait }))
    .body as object;
const targetOf = async (runner: TestRunner) => (await runner.call(200, 'GET comments')).body;
const send = async (afterMs = 0): Promise<number> => {
  await fixture.api.advanceClock(afterMs);
  const sender = processor.get(SendComments);
  const due = await sender.claim(100);
  await Promise.all(due.map((one) => sender.send(one, new AbortController().signal)));
  return due.length;
};
const written = (provider: Provider): string[] =>
  provider === 'slack'
    ? slack.messages.map(({ blocks }) => JSON.stringify(blocks))
    : (provider === 'github' ? github.answers.comments : gitlab.notes).map(({ body }) => body);

describe('a comment that an agent asks for', () => {
  it.each([
    ['github', `the issue ${REPOSITORY}#1`],
    ['gitlab', 'the issue group/project#7'],
  ] as const)('is added to the issue on %s once', async (provider, target) => {
    const runner = await started(provider);
    expect(runner.assignment.has_source).toBe(true);
    expect(await targetOf(runner)).toEqual({ target });
    const key = randomUUID();
    const text = 'Done @everyone.\n/close\n<!-- hidden -->\nhttps://user:secret-word@example.com';
    expect(await comment(runner, text, key)).toEqual({ state: 'pending', target });
    // The request is repeated while the processor writes it.
    const [waiting] = await Promise.all([comment(runner, text, key, 20), send()]);
    expect(waiting).toEqual({ state: 'written', target });
    expect(await comment(runner, text, key)).toEqual({ state: 'written', target });
    expect(await send(LEASE_MS)).toBe(0);
    expect(written(provider)).toHaveLength(1);
    const [body = ''] = written(provider);
    expect(body).toMatch(
      /^<!-- headrace --><!-- headrace-run \S+ \S+ -->\n\n> Done @\u200Beveryone\.\n> \/close\n> <\u200B!-- hidden -->\n/,
    );
    expect(body).not.toContain('secret-word');
    expect(body).toContain(`(https://runs.example.com/runs/${runner.assignment.run_id})`);
    expect(github.violations).toEqual([]);
  });

  it('is a message in the thread of Slack for each use', async () => {
    const runner = await started('slack');
    expect(runner.assignment.has_source).toBe(true);
    const target = 'the thread in Slack';
    expect(await targetOf(runner)).toEqual({ target });
    const key = randomUUID();
    const long = `${'0123456789'.repeat(700)} the end`;
    await comment(runner, 'Read <!channel> & https://user:secret-word@example.com', key);
    await comment(runner, long);
    expect(await send()).toBe(2);
    expect(await comment(runner, 'Read', key)).toEqual({ state: 'written', target });
    expect(await send(LEASE_MS)).toBe(0);
    const thread = { channel: CHANNEL, thread_ts: '1515449522.000016' };
    expect(slack.messages).toMatchObject([thread, thread]);
    const [first = '', second = ''] = written('slack').toSorted((a, b) => a.length - b.length);
    expect(first).toContain('Read &lt;!channel&gt; &amp; ');
    expect(first).not.toContain('secret-word');
    expect(first).toContain(`<https://runs.example.com/runs/${runner.assignment.run_id}|Run `);
    expect(second).toContain('has all of it');
    expect(second).not.toContain('the end');
    expect(slack.violations).toEqual([]);
  });

  it('is not offered in Slack without the secret of the automation', async () => {
    const runner = await started('slack', { answers: { secret_name: 'missing' } });
    expect(await targetOf(runner)).toEqual({ target: null });
    const key = randomUUID();
    await comment(runner, 'Done.', key);
    await send();
    expect(await comment(runner, 'Done.', key)).toEqual({
      problem: 'The team has no secret `missing` with the token for Slack.',
    });
  });

  it.each(['github', 'gitlab', 'slack'] as const)(
    'is found again on %s when the process ends before it has stored its id',
    async (provider) => {
      const runner = await started(provider);
      const key = randomUUID();
      await comment(runner, 'Done.', key);
      await fixture.database.query(
        `CREATE FUNCTION headrace.fail_comments() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
         CREATE TRIGGER tr_fail BEFORE UPDATE OF comment_id ON headrace.run_comments FOR EACH ROW EXECUTE FUNCTION headrace.fail_comments()`,
      );
      await expect(send()).rejects.toThrow('no');
      await fixture.database.query('DROP FUNCTION headrace.fail_comments CASCADE');
      // Its lease excludes other attempts meanwhile.
      expect(await send()).toBe(0);
      expect(await send(LEASE_MS)).toBe(1);
      expect(await comment(runner, 'Done.', key)).toMatchObject({ state: 'written' });
      expect(written(provider)).toHaveLength(1);
    },
  );

  it('is not published after a person has continued the run elsewhere', async () => {
    const runner = await started('github');
    const { run_id: runId } = runner.assignment;
    await comment(runner, 'Before.', randomUUID());
    await fixture.request(200, `POST /agent/runs/${runId}/followups`, {
      token: fixture.admin.token,
      body: { message: 'What is the password of the database?' },
    });
    expect(await comment(runner, 'A secret.', randomUUID())).toEqual({
      problem: expect.stringContaining('A person has continued this run elsewhere'),
    });
    // The one before was not written yet: the agent may have written it for the person.
    await send();
    expect(written('github')).toEqual([]);
  });

  it('is limited in number and length', async () => {
    const runner = await started('github');
    await Promise.all(Array.from({ length: 12 }, (_, index) => comment(runner, `Number ${index}`)));
    expect(await send()).toBe(10);
    expect(written('github')).toHaveLength(10);
    expect(await comment(runner, 'One more')).toEqual({ problem: 'A run can add at most 10 comments.' });
    for (const text of [' ', 'x'.repeat(10_001)]) {
      const { body } = await runner.call(
        400,
        'POST comments',
        {},
        { lease_epoch: runner.assignment.lease_epoch, key: 'k', text, wait: 0 },
      );
      expect(body.errors).toMatchObject([{ pointer: '/text' }]);
    }
  });

  it('is refused when the automation has switched comments off, and by the server of the issue', async () => {
    const silent = await started('github', { answers: { comment: false } });
    expect(await targetOf(silent)).toEqual({ target: null });
    expect(await comment(silent, 'Done.')).toEqual({ problem: expect.stringContaining('switched comments off') });

    const runner = await started('github');
    github.answers.forbidden = /\/comments$/;
    const key = randomUUID();
    await comment(runner, 'Done.', key);
    await send();
    expect(await comment(runner, 'Done.', key)).toEqual({
      problem: expect.stringContaining('GitHub rejected the request (403)'),
    });
    const { events } = await fixture.requestAsAdmin(200, `GET /agent/runs/${runner.assignment.run_id}/timeline`);
    expect(events).toContainEqual(
      expect.objectContaining({
        event_type: 'answer_failed',
        payload: expect.objectContaining({ parts: ['requested_comment'] }),
      }),
    );
    expect(written('github')).toEqual([]);
  });

  it('waits for the end of a rate limit', async () => {
    const runner = await started('github');
    const key = randomUUID();
    await comment(runner, 'Done.', key);
    github.nextOf = /^POST .*\/comments$/;
    github.next = { status: 403, body: { message: 'secondary rate limit' }, headers: { 'retry-after': '60' } };
    await send();
    github.nextOf = /^/;
    expect(await comment(runner, 'Done.', key)).toMatchObject({ state: 'pending' });
    expect(await send(30_000)).toBe(0);
    expect(await send(31_000)).toBe(1);
    expect(await comment(runner, 'Done.', key)).toMatchObject({ state: 'written' });
  });
});
