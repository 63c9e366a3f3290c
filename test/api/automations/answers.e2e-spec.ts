import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SendAnswers } from '#domain/answers';
import { type BuiltWebhook, until } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { GithubApiDouble } from '../../support/github-api.js';
import { type GithubDelivery, githubDelivery } from '../../support/github-deliveries.js';
import { type FiringProcess, startFiring } from './firing-process.js';

const TOKEN = 'token-of-a-user';
const REPOSITORY = 'Codertocat/Hello-World';
const APP = 4711;
/** Longer than the pause between two edits, and than the lease of an attempt. */
const PAUSE_MS = 6_000;
const LEASE_MS = 31_000;

let fixture: ApiFixture;
let github: GithubApiDouble;
let processor: FiringProcess;
let hook: BuiltWebhook;
let byToken: string;
let byApp: string;

beforeAll(async () => {
  github = await GithubApiDouble.start(TOKEN, REPOSITORY);
  fixture = await ApiFixture.start({ settings: { githubApiUrl: github.url, publicUrl: 'https://runs.example.com' } });
  processor = await startFiring(fixture.api.settings);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const all = { checks: 'write', contents: 'write', issues: 'write', metadata: 'read', pull_requests: 'write' };
  github.app = { id: APP, publicKey, permissions: all, isInstalled: true, tokenMs: 3_600_000 };
  await fixture.putSecret('token', TOKEN);
  await fixture.putSecret('key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  const environment = (login: object) => fixture.createEnvironment({ github_repos: [login] }, { team: true });
  // Case does not matter at GitHub.
  byToken = await environment({ owner: 'codertocat', repo: 'hello-world', secret_name: 'token' });
  const [owner, repo] = REPOSITORY.split('/');
  byApp = await environment({ owner, repo, secret_name: 'key', github_app_id: APP });
  github.addPullRequest({ title: '', body: '', head: 'main', base: 'old', draft: false });
  github.addPullRequest({ title: '', body: '', head: 'changes', base: 'main', draft: false });
});
afterAll(async () => {
  await processor.close();
  await fixture.close();
  await github.stop();
});
beforeEach(async () => {
  hook = await fixture.webhooks.webhook({
    factoryUid: await fixture.createFactory(),
    authMode: 'signature',
    signatureScheme: 'github',
  });
  await fixture.database.query('DELETE FROM run_answers');
  // The first run that has created a pull request gets its events.
  await fixture.database.query('DELETE FROM artifacts');
  const { answers } = github;
  for (const list of [answers.comments, answers.reactions, answers.checkRuns, answers.statuses]) list.length = 0;
  answers.writes = 0;
  answers.forbidden = null;
  github.token = TOKEN;
  github.requests.length = 0;
});

const automation = (event: string, environment: string | null, fields: object = {}) =>
  fixture.createAutomation(
    {
      name: 'fix',
      triggers: [{ provider: 'github', event }],
      ...(environment !== null && { agent_config: { environment_id: environment } }),
      ...fields,
    },
    hook.factoryUid,
  );

/** Delivers an event of the webhook. Returns the run of each automation that it has reached. */
async function deliver({ body, headers }: Pick<GithubDelivery, 'body' | 'headers'>): Promise<(string | undefined)[]> {
  const [id = ''] = await fixture.deliveries.buildMany(hook.id, 1, { body, headers });
  expect(await processor.evaluateAll()).toBe(1);
  const path = `/factories/${hook.factoryUid}/webhooks/${hook.uid}/deliveries/${id}`;
  const { automation_results: results } = await fixture.requestAsAdmin(200, `GET ${path}`);
  return (results as { run_id?: string }[]).map(({ run_id: runId }) => runId);
}

/** Starts a run for an issue. */
async function started(environment: string | null = byToken, fields: object = {}): Promise<string> {
  await automation('issue_opened', environment, fields);
  const [runId = ''] = await deliver(githubDelivery('issues', 'opened'));
  return runId;
}

/** Sends what is due after a time. Returns how many answers were. */
async function send(afterMs = PAUSE_MS, at = processor): Promise<number> {
  await fixture.api.advanceClock(afterMs);
  const sender = at.get(SendAnswers);
  const due = await sender.claim(100);
  await Promise.all(due.map((answer) => sender.send(answer, new AbortController().signal)));
  return due.length;
}

const move = (runId: string, state: string, message: string | null = null) =>
  fixture.database.query('UPDATE runs SET state = $2, status_message = $3 WHERE id = $1', [
    runId,
    state,
    message === null ? null : JSON.stringify({ message }),
  ]);

const says = (runId: string, text: string) =>
  fixture.database.query(
    `WITH head AS (INSERT INTO run_heads (run_id, last_seq) VALUES ($1, 2)
       ON CONFLICT (run_id) DO UPDATE SET last_seq = run_heads.last_seq + 1 RETURNING last_seq)
     INSERT INTO run_events (run_id, seq, kind, at, data)
     SELECT $1, last_seq, 'message_chunk', headrace.now(), jsonb_build_object('message_id', 'm' || last_seq, 'text', $2::text) FROM head`,
    [runId, text],
  );

/** The run has reported the pull request. */
const createPullRequest = (runId: string, number: number) =>
  fixture.database.query(
    `INSERT INTO artifacts (uid, run_id, slot_key, source_key, artifact_type, data, locator, run_created_at, created_at)
     SELECT left(md5(r.id::text || $2::text), 22), r.id, r.slot_key, $2, 'PULL_REQUEST', jsonb_build_object('url', $2::text, 'branch', 'changes', 'status', 'open'),
       $2, r.created_at, headrace.now() FROM runs r WHERE r.id = $1`,
    [runId, `https://github.com/${REPOSITORY}/pull/${number}`],
  );

/** The agent has received them. */
async function receiveFollowups(runId: string): Promise<void> {
  await fixture.api.advanceClock(1_000);
  await fixture.database.query(
    'UPDATE run_followups SET consumed_at = headrace.now() WHERE run_id = $1 AND consumed_at IS NULL',
    [runId],
  );
}

const failuresOf = async (runId: string) => {
  const { events } = await fixture.requestAsAdmin(200, `GET /agent/runs/${runId}/timeline`);
  return (events as { event_type: string; payload: { message: string; parts: string[] } }[])
    .filter(({ event_type: type }) => type === 'answer_failed')
    .map(({ payload }) => payload);
};

const commentOf = (runId: string): string => {
  const found = github.answers.comments.filter(({ body }) => body.includes(runId));
  expect(found).toHaveLength(1);
  return found[0]?.body ?? '';
};

describe('the comment of a run', () => {
  it('is created once and edited in place until the run has ended', async () => {
    const runId = await started();
    expect(await send(0)).toBe(1);
    const { comments, reactions } = github.answers;
    expect(comments).toMatchObject([{ number: 1 }]);
    expect(commentOf(runId)).toContain('<!-- headrace -->');
    expect(commentOf(runId)).toContain(`[fix](https://runs.example.com/runs/${runId}) **waits to start**`);
    expect(reactions).toEqual(['issues/1']);
    // Nothing has changed.
    expect(await send()).toBe(0);
    await move(runId, 'INPROGRESS');
    expect(await send()).toBe(1);
    expect(commentOf(runId)).toContain('**is working**');
    await says(runId, 'Fixed.\n\nSee `app.ts`.');
    await move(runId, 'SUCCEEDED', 'Nothing was pushed.');
    // Not within the pause.
    expect(await send(1_000)).toBe(0);
    await move(runId, 'INPROGRESS');
    await move(runId, 'SUCCEEDED', 'Nothing was pushed.');
    expect(await send()).toBe(1);
    expect(commentOf(runId)).toContain('**has succeeded**');
    expect(commentOf(runId)).toContain('> Nothing was pushed.\n\n> Fixed.\n> \n> See `app.ts`.');
    expect(github.answers.writes).toBe(3);
    expect(github.violations).toEqual([]);
    expect(await failuresOf(runId)).toEqual([]);
  });

  it('is found again when the process ends before its id is stored', async () => {
    const runId = await started();
    await fixture.database.query(
      `CREATE FUNCTION headrace.fail_answers() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
       CREATE TRIGGER tr_fail BEFORE UPDATE OF comment_id ON headrace.run_answers FOR EACH ROW EXECUTE FUNCTION headrace.fail_answers()`,
    );
    await expect(send(0)).rejects.toThrow('no');
    await fixture.database.query('DROP FUNCTION headrace.fail_answers CASCADE');
    expect(github.answers.comments).toHaveLength(1);
    // Another person has copied the mark.
    const { body = '' } = github.answers.comments[0] ?? {};
    github.answers.comments.push({ id: 9_999, number: 1, body: `Copied: ${body}` });
    await move(runId, 'INPROGRESS');
    // The lease excludes other attempts meanwhile.
    expect(await send()).toBe(0);
    expect(await send(LEASE_MS)).toBe(1);
    expect(github.answers.comments.map(({ body: text }) => /Copied|is working/.exec(text)?.[0])).toEqual([
      'is working',
      'Copied',
    ]);
  });

  it('is written by one of two processes', async () => {
    const other = await startFiring(fixture.api.settings);
    try {
      const runId = await started();
      for (const state of ['QUEUED', 'INPROGRESS', 'SUCCEEDED']) {
        await move(runId, state);
        await fixture.api.advanceClock(PAUSE_MS);
        const counts = await Promise.all([send(0), send(0, other)]);
        expect(counts[0] + counts[1]).toBe(1);
      }
      expect(commentOf(runId)).toContain('**has succeeded**');
      expect(github.answers.comments).toHaveLength(1);
    } finally {
      await other.close();
    }
  });

  it('waits for the end of a rate limit, with the newest state only', async () => {
    const runId = await started();
    github.nextOf = /^POST .*\/comments$/;
    github.next = {
      status: 403,
      body: { message: 'You have exceeded a secondary rate limit.' },
      headers: { 'retry-after': '60' },
    };
    expect(await send(0)).toBe(1);
    github.nextOf = /^/;
    expect(github.answers.comments).toEqual([]);
    await move(runId, 'INPROGRESS');
    expect(await send(30_000)).toBe(0);
    // Another run with the same credential.
    const sent = github.requests.length;
    const [other = ''] = await deliver(githubDelivery('issues', 'opened', { issue: { number: 2 } }));
    expect(await send(0)).toBe(1);
    expect(github.requests.length).toBe(sent);
    await until(async () => {
      await send(31_000);
      return github.answers.comments.length === 2;
    });
    expect(commentOf(runId)).toContain('**is working**');
    expect(commentOf(other)).toContain('**waits to start**');
    expect(github.answers.writes).toBe(2);
    expect([...(await failuresOf(runId)), ...(await failuresOf(other))]).toEqual([]);
  });

  it('is not written again when somebody has deleted it', async () => {
    const runId = await started();
    await send(0);
    github.answers.comments.length = 0;
    for (const state of ['INPROGRESS', 'SUCCEEDED']) {
      await move(runId, state);
      await send();
    }
    expect(github.answers.comments).toEqual([]);
    expect(await failuresOf(runId)).toEqual([
      {
        provider: 'github',
        target: `${REPOSITORY}#1`,
        parts: ['comment'],
        message: expect.stringContaining('was deleted'),
      },
    ]);
  });

  it.each([
    ['the run has no environment', () => null, 'names no credential for https://github.com/Codertocat/Hello-World'],
    ['GitHub rejects it', () => byToken, 'GitHub rejected the request (403): Resource not accessible by integration'],
  ])('is not written when %s, and the timeline says so once', async (_name, environment, message) => {
    github.answers.forbidden = /\/(comments|reactions)$/;
    const runId = await started(environment());
    await send(0);
    await move(runId, 'INPROGRESS');
    await send();
    const requests = github.requests.length;
    await move(runId, 'SUCCEEDED');
    await send();
    expect(github.requests.length).toBe(requests);
    expect(github.answers.comments).toEqual([]);
    const found = await failuresOf(runId);
    expect(found.map((one) => one.message)).toEqual(found.map(() => expect.stringContaining(message)));
    expect(found.flatMap(({ parts }) => parts).sort()).toEqual(
      environment() === null ? ['check', 'comment', 'reaction'] : ['comment', 'reaction'],
    );
  });

  it('is written later when GitHub fails', async () => {
    const runId = await started();
    github.next = { status: 502, body: { message: 'Server Error' } };
    expect(await send(0)).toBe(1);
    expect(github.answers.comments).toEqual([]);
    expect(await send(30_000)).toBe(1);
    expect(commentOf(runId)).toContain('**waits to start**');
    expect(await failuresOf(runId)).toEqual([]);
  });

  it('quotes the text of the agent, which notifies nobody and stays within the quotation', async () => {
    const runId = await started();
    const text = [
      'Done, @octocat and @acme/team.',
      '<!-- headrace --> <!--',
      '![pixel](https://evil.example/p.png) &#64;octocat',
      '/close',
      '```',
      'https://user:hunter2@example.org/x.git',
    ].join('\n');
    await says(runId, text);
    await move(runId, 'SUCCEEDED');
    await send();
    const comment = commentOf(runId);
    const quoted = comment.slice(comment.indexOf('\n> '));
    expect(quoted).toContain('> Done, @\u200Boctocat and @\u200Bacme/team.');
    expect(
      quoted
        .trim()
        .split('\n')
        .every((line) => line.startsWith('> ')),
    ).toBe(true);
    for (const hidden of ['@octocat', '<!--', '![', '&#64;', 'hunter2']) expect(quoted).not.toContain(hidden);
  });

  it('is cut at the limit of GitHub, and says so', async () => {
    const runId = await started();
    await says(runId, `${'😀 @a\n'.repeat(20_000)}end`);
    await move(runId, 'SUCCEEDED');
    await send();
    const comment = commentOf(runId);
    expect(comment.length).toBeLessThanOrEqual(65_536);
    expect(comment.length).toBeGreaterThan(60_000);
    expect(comment).toMatch(/The text is cut here; the \[run\]\(https:\S+\) has all of it\.$/);
    expect(comment.isWellFormed()).toBe(true);
  });
});

describe('the text of a comment', () => {
  it('has only the state when somebody else has continued the run', async () => {
    const runId = await started();
    await fixture.database.query('UPDATE runs SET conversation_id = gen_random_uuid() WHERE id = $1', [runId]);
    await says(runId, 'For the issue.');
    await move(runId, 'SUCCEEDED');
    await createPullRequest(runId, 41);
    await send();
    expect(commentOf(runId)).toContain('> For the issue.');
    expect(commentOf(runId)).toContain('/pull/41 (open)');
    await fixture.requestAsAdmin(200, `POST /agent/runs/${runId}/followups`, { message: 'List the customers.' });
    await receiveFollowups(runId);
    await createPullRequest(runId, 42);
    await says(runId, 'A secret.');
    await move(runId, 'SUCCEEDED', 'Another secret.');
    await send();
    expect(commentOf(runId)).toContain('**has succeeded**');
    expect(commentOf(runId)).toContain('It was continued elsewhere');
    expect(commentOf(runId)).not.toMatch(/secret|\/pull\//);
  });

  it('never names a pull request that somebody else has asked for', async () => {
    const runId = await started();
    await fixture.database.query('UPDATE runs SET conversation_id = gen_random_uuid() WHERE id = $1', [runId]);
    await createPullRequest(runId, 41);
    await move(runId, 'SUCCEEDED');
    await fixture.requestAsAdmin(200, `POST /agent/runs/${runId}/followups`, { message: 'List the customers.' });
    await receiveFollowups(runId);
    await createPullRequest(runId, 42);
    await move(runId, 'SUCCEEDED');
    await fixture.requestAsAdmin(200, `POST /agent/runs/${runId}/followups`, { message: 'For an event.' });
    const key = 'automation/a/b';
    await fixture.database.query('UPDATE run_followups SET launch_key = $2 WHERE run_id = $1 AND consumed_at IS NULL', [
      runId,
      key,
    ]);
    await fixture.database.query('UPDATE run_answers SET launch_keys = launch_keys || $2::text WHERE run_id = $1', [
      runId,
      key,
    ]);
    await receiveFollowups(runId);
    await createPullRequest(runId, 43);
    await move(runId, 'SUCCEEDED');
    await send();
    expect(commentOf(runId)).not.toContain('It was continued elsewhere');
    expect(commentOf(runId).match(/\/pull\/\d+/g)).toEqual(['/pull/41', '/pull/43']);
  });

  it('follows decisions while the run waits for another one', async () => {
    const run = await fixture.runs.build({
      by: fixture.member,
      team: fixture.team,
      state: 'BLOCKED',
      approvals: 2,
      config: { environment_id: byToken },
      columns: { source: 'GITHUB_WEBHOOK' },
    });
    await fixture.database.query(
      `INSERT INTO run_answers (run_id, provider, repository, target_kind, target_number, parts)
       VALUES ($1, 'github', $2, 'issue', 1, '{comment}')`,
      [run.id, REPOSITORY],
    );
    await send(0);
    const decided = () => /item=[^/]+\/([0-9a-f-]{36})/.exec(commentOf(run.id))?.[1];
    const first = decided();
    await fixture.database.query(
      `UPDATE approvals SET state = 'allowed', decided_via = 'user', decided_at = headrace.now(),
         decided_by_type = 'user', decided_by_uid = $2 WHERE id = $1`,
      [first, fixture.admin.uid],
    );
    expect(await send()).toBe(1);
    expect(decided()).not.toBe(first);
    expect(run.approvalIds).toEqual(expect.arrayContaining([first, decided()]));
  });
});

it('an event of another server is not answered', async () => {
  await automation('issue_opened', byToken);
  const repository = { html_url: `https://github.example.com/${REPOSITORY}` };
  const [runId] = await deliver(githubDelivery('issues', 'opened', { repository }));
  expect(runId).toBeDefined();
  expect(await send(0)).toBe(0);
});

describe('a pull request', () => {
  const number = 2;
  const opened = () =>
    githubDelivery('pull_request', 'opened', { pull_request: { author_association: 'MEMBER', number } });

  const url = `https://github.com/${REPOSITORY}/pull/${number}`;
  /** The agent of the run has reported the pull request. */
  const report = (runId: string) => createPullRequest(runId, number);
  /** The run has created it. */
  async function create(runId: string): Promise<void> {
    await report(runId);
    await fixture.database.query('UPDATE artifacts SET own_since = headrace.now() WHERE run_id = $1', [runId]);
  }

  it('has a check run only on the commit with which the run began, unless the run has created the pull request', async () => {
    await automation('pull_request_opened', byApp);
    github.headOf = () => 'a'.repeat(40);
    const [runId = ''] = await deliver(opened());
    await report(runId);
    await send(0);
    github.headOf = () => 'b'.repeat(40);
    await move(runId, 'SUCCEEDED');
    await send();
    expect(github.answers.checkRuns).toMatchObject([{ head_sha: 'a'.repeat(40), conclusion: 'success' }]);
  });

  it('of another run has no check run of a run whose agent has reported it', async () => {
    await automation('issue_opened', byApp);
    const [runId = ''] = await deliver(githubDelivery('issues', 'opened', {}));
    await report(runId);
    await send(0);
    await move(runId, 'SUCCEEDED');
    await send();
    expect(commentOf(runId)).toContain('**has succeeded**');
    expect(github.answers.checkRuns).toEqual([]);
    await fixture.database.query('UPDATE artifacts SET own_since = headrace.now() WHERE run_id = $1', [runId]);
    await send();
    expect(github.answers.checkRuns).toMatchObject([{ external_id: runId, conclusion: 'success' }]);
  });

  it('has a check run on its head commit, which follows the run and what it pushes', async () => {
    await automation('pull_request_opened', byApp);
    github.headOf = () => 'a'.repeat(40);
    const [runId = ''] = await deliver(opened());
    await create(runId);
    await send(0);
    const { checkRuns } = github.answers;
    const details = {
      name: 'headrace: fix',
      external_id: runId,
      details_url: `https://runs.example.com/runs/${runId}`,
    };
    expect(checkRuns).toMatchObject([{ ...details, head_sha: 'a'.repeat(40), status: 'queued' }]);
    await move(runId, 'INPROGRESS');
    github.headOf = () => 'b'.repeat(40);
    await send();
    expect(checkRuns).toMatchObject([{ head_sha: 'a'.repeat(40), status: 'in_progress' }]);
    await move(runId, 'FAILED', 'The model is unknown.');
    // The process ends before the new one is stored.
    await fixture.database.query(
      `CREATE FUNCTION headrace.fail_answers() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
       CREATE TRIGGER tr_fail BEFORE UPDATE OF check_id ON headrace.run_answers FOR EACH ROW EXECUTE FUNCTION headrace.fail_answers()`,
    );
    await expect(send()).rejects.toThrow('no');
    await fixture.database.query('DROP FUNCTION headrace.fail_answers CASCADE');
    await send(LEASE_MS);
    const completed = { status: 'completed', conclusion: 'failure', output: { title: 'Failed' } };
    expect(checkRuns).toMatchObject([
      { ...completed, head_sha: 'a'.repeat(40) },
      { ...completed, head_sha: 'b'.repeat(40), external_id: runId },
    ]);
    expect(checkRuns[1]?.output.summary).toContain('> The model is unknown.');
    expect(commentOf(runId)).toContain('**has failed**');
    expect(github.violations).toEqual([]);
    expect(await failuresOf(runId)).toEqual([]);
  });

  it('has a status in place of a check run with the token of a user', async () => {
    await automation('pull_request_opened', byToken);
    const [runId = ''] = await deliver(opened());
    await send(0);
    await move(runId, 'SUCCEEDED');
    await send();
    const { statuses, checkRuns } = github.answers;
    expect(checkRuns).toEqual([]);
    const common = { context: 'headrace: fix', target_url: `https://runs.example.com/runs/${runId}` };
    expect(statuses).toMatchObject([
      { ...common, state: 'pending' },
      { ...common, state: 'success' },
    ]);
    expect(github.violations).toEqual([]);
  });

  it('has a comment of the run that continues for it, which was started for an issue', async () => {
    await automation('issue_opened', byApp);
    await automation('pull_request_commented', byApp, { name: 'answer', concurrency: { policy: 'continue' } });
    const [runId = ''] = await deliver(githubDelivery('issues', 'opened'));
    await create(runId);
    await fixture.database.query('UPDATE runs SET conversation_id = gen_random_uuid() WHERE id = $1', [runId]);
    await move(runId, 'SUCCEEDED');
    await send();
    expect(commentOf(runId)).toContain(`- ${url} (open)`);
    expect(github.answers.checkRuns).toMatchObject([{ external_id: runId, conclusion: 'success' }]);
    const commented = githubDelivery('issue_comment', 'created', {
      comment: { id: 77, author_association: 'MEMBER', body: 'Please explain.' },
      issue: {
        number,
        html_url: url,
        active_lock_reason: null,
        pull_request: { url, html_url: url, diff_url: url, patch_url: url },
      },
    });
    expect(await deliver(commented)).toContain(runId);
    await send();
    expect(github.answers.comments.map((one) => [one.number, one.body.includes('waits to start')])).toEqual([
      [1, true],
      [number, true],
    ]);
    expect(github.answers.reactions).toEqual(['issues/1', 'issues/comments/77']);
    // Both have the same check.
    expect(github.answers.checkRuns).toMatchObject([{ external_id: runId, status: 'queued' }]);
    expect(github.violations).toEqual([]);
  });

  it('of an event that is evaluated again has one comment, also when the process has ended in between', async () => {
    await automation('pull_request_opened', byToken);
    const { body, headers } = opened();
    await fixture.database.query(
      `CREATE FUNCTION headrace.fail_answers() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
       CREATE TRIGGER tr_fail BEFORE INSERT ON headrace.run_answers FOR EACH ROW EXECUTE FUNCTION headrace.fail_answers()`,
    );
    await fixture.deliveries.buildMany(hook.id, 1, { body, headers });
    await processor.evaluateAll();
    await fixture.database.query('DROP FUNCTION headrace.fail_answers CASCADE');
    await until(async () => {
      await fixture.api.advanceClock(60_000);
      await processor.evaluateAll();
      return (
        (await fixture.database.query('SELECT 1 FROM run_answers WHERE target_number = 2 AND answered_changes = 0'))
          .length > 0
      );
    });
    await send(0);
    expect(github.answers.comments).toHaveLength(1);
  });
});

it('an automation can leave out parts of its answers', async () => {
  const { uid } = await automation('pull_request_opened', byToken, { answers: { comment: false } });
  const path = `/factories/${hook.factoryUid}/automations/${uid}`;
  const { answers } = await fixture.requestAsAdmin(200, `GET ${path}`);
  expect(answers).toEqual({ comment: false, check: true, reaction: true });
  await deliver(
    githubDelivery('pull_request', 'opened', { pull_request: { author_association: 'MEMBER', number: 2 } }),
  );
  await send(0);
  const written = () => [
    github.answers.comments.length,
    github.answers.statuses.length,
    github.answers.reactions.length,
  ];
  expect(written()).toEqual([0, 1, 1]);
  const {
    source: _,
    created_at: _created,
    updated_at: _updated,
    uid: _uid,
    ...body
  } = await fixture.requestAsAdmin(200, `GET ${path}`);
  await fixture.requestAsAdmin(200, `PUT ${path}`, {
    ...body,
    answers: { comment: false, check: false, reaction: false },
  });
  await deliver(
    githubDelivery('pull_request', 'opened', { pull_request: { author_association: 'MEMBER', number: 2 } }),
  );
  expect(await send()).toBe(0);
  expect(written()).toEqual([0, 1, 1]);
  const { answers: all } = await fixture.requestAsAdmin(200, `PUT ${path}`, { ...body, answers: null });
  expect(all).toBeUndefined();
});

it('events of branches are answered nowhere', async () => {
  await automation('branch_pushed', byToken);
  const [runId] = await deliver(
    githubDelivery('push', null, { ref: 'refs/heads/main', deleted: false, created: false }),
  );
  expect(runId).toBeDefined();
  expect(await send(0)).toBe(0);
  expect(github.answers.comments).toEqual([]);
});
