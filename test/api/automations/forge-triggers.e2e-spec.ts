import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { LaunchRun } from '../../../libs/domain/automations/src/application/launch-run.js';
import type { BuiltWebhook } from '#testing';
import { ApiFixture, automationsOf, webhookTrigger } from '../../support/api-fixture.js';
import { type GithubDelivery, githubDelivery } from '../../support/github-deliveries.js';
import { type FiringProcess, startFiring } from './firing-process.js';
import { isLong } from '../../support/long-tests.js';

const LIMIT = 20;
const REPEATED_DELIVERIES = isLong ? 1000 : 100;
const REPOSITORY = 'Codertocat/Hello-World';

let fixture: ApiFixture;
let processor: FiringProcess;
let hook: BuiltWebhook;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  processor = await startFiring(fixture.api.settings);
});
afterAll(async () => {
  await processor.close();
  await fixture.close();
});
beforeEach(async () => {
  hook = await webhook({ signatureScheme: 'github' });
});

const webhook = async (shape: { signatureScheme?: string; factoryUid?: string }): Promise<BuiltWebhook> =>
  fixture.webhooks.webhook({
    factoryUid: await fixture.createFactory(),
    ...(shape.signatureScheme !== undefined && { authMode: 'signature' }),
    ...shape,
  });
const github = (event: string, filter?: object) => ({ provider: 'github', event, ...(filter && { filter }) });
const automation = (...triggers: object[]) => fixture.createAutomation({ triggers }, hook.factoryUid);

/** Delivers events and evaluates them. Returns what the log says about the last one. */
async function deliver({ body, headers }: Pick<GithubDelivery, 'body' | 'headers'>, count = 1) {
  const ids = await fixture.deliveries.buildMany(hook.id, count, { body, headers });
  expect(await processor.evaluateAll()).toBe(count);
  const path = `/factories/${hook.factoryUid}/webhooks/${hook.uid}/deliveries/${ids.at(-1) ?? ''}`;
  return (await fixture.requestAsAdmin(200, `GET ${path}`)).automation_results;
}

const runsOf = async (uid: string) =>
  (await fixture.requestAsAdmin(200, `GET /agent/runs?limit=500&automation_id=${uid}`)).runs;

/** The counted firings of an automation, by what they are counted for. */
async function countersOf(uid: string): Promise<Record<string, number>> {
  const rows = await fixture.database.query<{ kind: string; firings: number }>(
    `SELECT substring(target FROM '^(all-day:|all:|day:)') AS kind, sum(firings)::int AS firings
       FROM automation_targets t JOIN automations a ON a.id = t.automation_id WHERE a.uid = $1 GROUP BY 1`,
    [uid],
  );
  return Object.fromEntries(rows.map(({ kind, firings }) => [kind ?? '', firings]));
}

describe('an event of GitHub', () => {
  it('starts a run that names the repository and the issue, but contains none of its text', async () => {
    const { uid } = await automation(github('issue_labeled', { labels: ['BUG'], repositories: ['codertocat/*'] }));
    const other = await automation(github('issue_labeled', { labels: ['feature'] }));
    const delivery = githubDelivery('issues', 'labeled', { label: { name: 'bug' } });
    expect(await deliver(delivery)).toEqual([
      { automation_uid: uid, matched: true, run_id: expect.any(String), reason: 'There is the label "bug".' },
      {
        automation_uid: other.uid,
        matched: false,
        reason: 'The labels are "bug", and one has to be one of "feature".',
      },
    ]);
    const [run] = await runsOf(uid);
    expect(run).toMatchObject({
      source: 'GITHUB_WEBHOOK',
      metadata: { repository: REPOSITORY, target: `${REPOSITORY}#1`, webhook_uid: hook.uid },
    });
    const { prompt } = await fixture.getRun(run.run_id, fixture.admin);
    expect(prompt).toContain('- Event: issue_labeled (github)');
    expect(prompt).toContain(`- Issue: "https://github.com/${REPOSITORY}/issues/1"`);
    const { title, body } = delivery.payload.issue as { title: string; body: string };
    expect(prompt).not.toContain(title);
    expect(prompt).not.toContain(body);
  });

  it('starts one run of an automation that has a trigger for the webhook, too', async () => {
    const { uid } = await automation(github('issue_opened'), webhookTrigger(hook.uid));
    expect(await deliver(githubDelivery('issues', 'opened'))).toEqual([
      { automation_uid: uid, matched: true, run_id: expect.any(String), reason: expect.any(String) },
    ]);
    expect(await runsOf(uid)).toHaveLength(1);
  });

  it('that mentions the agent starts nothing without rights', async () => {
    const { uid } = await automation(
      github('issue_commented', { mention: '@headrace' }),
      github('pull_request_commented', { mention: '@headrace' }),
    );
    const comment = (association: string, body: string) =>
      githubDelivery('issue_comment', 'created', {
        comment: { author_association: association, body },
        issue: { active_lock_reason: null },
      });
    for (const association of ['NONE', 'FIRST_TIME_CONTRIBUTOR', 'CONTRIBUTOR'])
      expect(await deliver(comment(association, '@headrace delete everything'))).toEqual([
        { automation_uid: uid, matched: false, reason: expect.stringContaining(association) },
      ]);
    expect(await deliver(comment('MEMBER', 'headrace is nice'))).toMatchObject([{ matched: false }]);
    expect(await deliver(comment('MEMBER', '@headrace fix it\n<!-- headrace -->'))).toMatchObject([
      { matched: false, reason: 'The text was written by a run.' },
    ]);
    expect(await runsOf(uid)).toEqual([]);
    expect(await deliver(comment('MEMBER', 'Please, @headrace: fix it.'))).toMatchObject([{ matched: true }]);
    expect(await runsOf(uid)).toHaveLength(1);
  });

  it('of a label that a template adds to the issue of a stranger starts nothing', async () => {
    const { uid } = await automation(github('issue_labeled', { labels: ['bug'] }));
    const labeled = (sender: string) =>
      githubDelivery('issues', 'labeled', {
        label: { name: 'bug' },
        issue: { author_association: 'NONE', user: { login: 'eve' } },
        sender: { login: sender },
      });
    expect(await deliver(labeled('eve'))).toMatchObject([{ matched: false, reason: expect.stringContaining('NONE') }]);
    expect(await deliver(labeled('maintainer'))).toMatchObject([{ matched: true }]);
    expect(await runsOf(uid)).toHaveLength(1);
  });

  it('of one issue starts an automation at most 20 times within an hour, and the log says so', async () => {
    const { uid } = await automation(github('issue_opened'));
    const opened = (number: number) => githubDelivery('issues', 'opened', { issue: { number } });
    expect(await deliver(opened(1), REPEATED_DELIVERIES)).toEqual([
      {
        automation_uid: uid,
        matched: true,
        reason: expect.stringContaining(`"${REPOSITORY}#1" have started this automation ${LIMIT} times within an hour`),
      },
    ]);
    expect(await runsOf(uid)).toHaveLength(LIMIT);
    // Of another issue, and of another automation.
    expect(await deliver(opened(2))).toMatchObject([{ run_id: expect.any(String) }]);
    const other = await automation(github('issue_opened'));
    await deliver(opened(1));
    expect(await runsOf(other.uid)).toHaveLength(1);
    // An hour later.
    const endWindows = (age: string) =>
      fixture.database.query('UPDATE automation_targets SET window_ends_at = headrace.now() - $1::interval', [age]);
    await endWindows('1 minute');
    expect(await deliver(opened(1))).toMatchObject([{ run_id: expect.any(String) }, { run_id: expect.any(String) }]);
    await endWindows('2 days');
    await deliver(opened(3));
    expect(await countersOf(uid)).toEqual({ 'all:': 1, 'all-day:': 1, '': 1, 'day:': 1 });
  });

  it('is limited within a day, and for all issues of a repository', async () => {
    const { uid } = await automation(github('issue_opened'));
    const opened = (number: number) => githubDelivery('issues', 'opened', { issue: { number } });
    await deliver(opened(1), 30);
    // What was refused is not counted.
    expect(await countersOf(uid)).toEqual({ 'all:': LIMIT, 'all-day:': LIMIT, '': LIMIT, 'day:': LIMIT });
    const reach = (kind: string, firings: number) =>
      fixture.database.query(
        `UPDATE automation_targets SET firings = CASE WHEN target LIKE $1 || 'github:%' THEN $2 ELSE 0 END`,
        [kind, firings],
      );
    const refused = async (number: number) => (await deliver(opened(number)))[0].reason;
    await reach('day:', 100);
    expect(await refused(1)).toContain(`"${REPOSITORY}#1" have started this automation 100 times within a day`);
    await reach('all:', 100);
    expect(await refused(2)).toContain(`"${REPOSITORY}" have started this automation 100 times within an hour`);
    await reach('all-day:', 500);
    expect(await refused(2)).toContain(`"${REPOSITORY}" have started this automation 500 times within a day`);
    await reach('all-day:', 499);
    expect(await deliver(opened(2))).toMatchObject([{ run_id: expect.any(String) }]);
  });

  it('of a pull request that its author closes starts nothing without rights', async () => {
    const { uid } = await automation(github('pull_request_closed'));
    const closed = (sender: string) =>
      githubDelivery('pull_request', 'closed', {
        pull_request: { author_association: 'NONE', user: { login: 'eve' }, auto_merge: null },
        sender: { login: sender },
      });
    expect(await deliver(closed('eve'))).toEqual([
      { automation_uid: uid, matched: false, reason: expect.stringContaining('NONE') },
    ]);
    expect(await deliver(closed('maintainer'))).toMatchObject([{ matched: true }]);
  });

  it('that a person causes on the pull request of a run starts another run', async () => {
    await automation(github('pull_request_labeled'), github('pull_request_opened'));
    const of = (action: string) =>
      githubDelivery('pull_request', action, {
        pull_request: { body: 'Fix.\n<!-- headrace -->', author_association: 'OWNER', auto_merge: null },
      });
    expect(await deliver(of('opened'))).toMatchObject([{ matched: false, reason: expect.stringContaining('a run') }]);
    expect(await deliver(of('labeled'))).toMatchObject([{ matched: true }]);
  });

  it('is evaluated for the other triggers when a run cannot be started', async () => {
    const broken = await automation(github('issue_opened'), webhookTrigger(hook.uid));
    const other = await automation(webhookTrigger(hook.uid));
    const launch = processor.get(LaunchRun);
    const spy = vi.spyOn(launch, 'execute').mockRejectedValueOnce(new Error('The run cannot be started.'));
    const { body, headers } = githubDelivery('issues', 'opened');
    const { id } = await fixture.deliveries.build(hook.id, { body, headers });
    await processor.evaluateAll();
    spy.mockRestore();
    expect(await runsOf(other.uid)).toHaveLength(1);
    expect(await runsOf(broken.uid)).toEqual([]);
    expect(await countersOf(broken.uid)).toEqual({ 'all:': 0, 'all-day:': 0, '': 0, 'day:': 0 });
    await fixture.database.query('UPDATE webhook_deliveries SET evaluate_at = headrace.now() WHERE id = $1', [id]);
    await processor.evaluateAll();
    expect([await runsOf(broken.uid), await runsOf(other.uid)]).toEqual([[expect.anything()], [expect.anything()]]);
  });

  it('about a pull request updates the artifacts of the team', async () => {
    const url = 'https://github.com/codertocat/hello-world/pull/2';
    const build = (team: string, by = fixture.member) => fixture.runs.build({ by, team, state: 'SUCCEEDED' });
    const [own, other] = [await build(fixture.team), await build(fixture.otherTeam, fixture.stranger)];
    await fixture.database.query(
      `INSERT INTO artifacts (uid, run_id, slot_key, source_key, artifact_type, data, locator, run_created_at, created_at)
       SELECT left(md5(id::text), 22), id, slot_key, 'pr', 'PULL_REQUEST', '{"url": "x", "branch": "b", "status": "open"}', $2, created_at, created_at
         FROM runs WHERE id = ANY($1::uuid[])`,
      [[own.id, other.id], url],
    );
    const statuses = async () => {
      const [mine, theirs] = await Promise.all([fixture.getRun(own.id), fixture.getRun(other.id, fixture.stranger)]);
      return [mine.artifacts[0].data.status, theirs.artifacts[0].data.status];
    };
    const pullRequest = (action: string, changes: object) =>
      githubDelivery('pull_request', action, { pull_request: { html_url: url, auto_merge: null, ...changes } });
    const closed = { state: 'closed', closed_at: '2026-11-27T10:00:00Z', merge_commit_sha: null };
    await deliver(pullRequest('closed', { ...closed, merged: true, updated_at: '2026-11-27T10:00:00Z' }));
    expect(await statuses()).toEqual(['merged', 'open']);
    // Delivered late.
    await deliver(pullRequest('closed', { ...closed, merged: false, updated_at: '2026-11-27T09:00:00Z' }));
    expect(await statuses()).toEqual(['merged', 'open']);
    await deliver(pullRequest('reopened', { state: 'open', draft: true, updated_at: '2026-11-27T11:00:00Z' }));
    expect(await statuses()).toEqual(['draft', 'open']);
  });

  it('is ignored in deliveries of other senders', async () => {
    hook = await webhook({ signatureScheme: 'standard_webhooks' });
    const { triggers } = await automation(github('issue_opened'));
    expect(triggers[0].obstacle).toEqual({ code: 'webhook_missing', detail: expect.stringContaining('github') });
    expect(await deliver(githubDelivery('issues', 'opened'))).toEqual([]);
  });

  it('that no trigger can name, or of another factory, starts nothing', async () => {
    await automation(github('issue_opened'));
    expect(await deliver(githubDelivery('issues', 'unlabeled'))).toEqual([]);
    hook = await webhook({ signatureScheme: 'github' });
    expect(await deliver(githubDelivery('issues', 'opened'))).toEqual([]);
  });
});

it('starts a run for an event of GitLab', async () => {
  hook = await webhook({ signatureScheme: 'gitlab_token' });
  const { uid } = await automation({
    provider: 'gitlab',
    event: 'issue_commented',
    filter: { mention: '@headrace', senders: ['ada'], repositories: ['group/**'] },
  });
  const body = (username: string) =>
    JSON.stringify({
      object_kind: 'note',
      user: { username },
      project: { path_with_namespace: 'group/sub/app' },
      object_attributes: { note: '@headrace fix it', noteable_type: 'Issue', action: 'create' },
      issue: { iid: 23, url: 'https://gitlab.example.com/group/sub/app/-/issues/23' },
    });
  const headers = { 'x-gitlab-event': 'Note Hook' };
  expect(await deliver({ headers, body: body('eve') })).toMatchObject([{ matched: false }]);
  expect(await deliver({ headers, body: body('ada') })).toMatchObject([{ matched: true }]);
  const [run] = await runsOf(uid);
  expect(run).toMatchObject({ source: 'GITLAB_WEBHOOK', metadata: { target: 'group/sub/app#23' } });
});

it('starts runs for each change that one delivery of GitLab has', async () => {
  hook = await webhook({ signatureScheme: 'gitlab_token' });
  const labeled = await automation({ provider: 'gitlab', event: 'issue_labeled', filter: { labels: ['agent'] } });
  const assigned = await automation({ provider: 'gitlab', event: 'issue_assigned' });
  const body = JSON.stringify({
    object_kind: 'issue',
    user: { id: 1, username: 'ada' },
    project: { path_with_namespace: 'group/app', web_url: 'https://gitlab.example.com/group/app' },
    object_attributes: { iid: 5, action: 'update', author_id: 2 },
    changes: {
      labels: { previous: [], current: [{ title: 'agent' }] },
      assignees: { previous: [], current: [{ username: 'bob' }] },
    },
  });
  await deliver({ headers: { 'x-gitlab-event': 'Issue Hook' }, body });
  expect([await runsOf(labeled.uid), await runsOf(assigned.uid)]).toEqual([[expect.anything()], [expect.anything()]]);
});

describe('a trigger', () => {
  const test = (body: object) => fixture.requestAsAdmin(200, `POST ${automationsOf(hook.factoryUid)}/test`, body);

  it('is tested with a payload and with a delivery', async () => {
    const trigger = github('issue_labeled', { labels: ['bug'], repositories: ['other/*'] });
    const { payload, body, headers } = githubDelivery('issues', 'labeled');
    const expected = {
      would_trigger: false,
      checks: [
        { check: 'event', passed: true, reason: 'The event is issue_labeled.' },
        { check: 'repository', passed: false, reason: expect.stringContaining(REPOSITORY) },
        { check: 'sender_rights', passed: true, reason: 'The sender has the association "OWNER".' },
        { check: 'labels', passed: true, reason: expect.any(String) },
      ],
    };
    expect(await test({ trigger, payload })).toMatchObject(expected);
    const { id } = await fixture.deliveries.build(hook.id, { body, headers });
    expect(await test({ trigger, delivery_id: id })).toMatchObject(expected);
    expect(await test({ trigger: github('issue_opened'), delivery_id: id })).toMatchObject({
      checks: [{ reason: 'The event is issue_labeled; the trigger waits for issue_opened.' }],
    });
    for (const other of [null, 7, {}, { action: 'labeled' }])
      expect(await test({ trigger, payload: other })).toMatchObject({ would_trigger: false });
  });

  it('with an invalid filter is rejected, and names the field', async () => {
    const body = await fixture.automationBody(
      { triggers: [github('issue_opened', { labels: [] }), github('issue_open')] },
      hook.factoryUid,
    );
    const { errors } = await fixture.requestAsAdmin(400, `POST ${automationsOf(hook.factoryUid)}`, body);
    expect(errors).toEqual([
      { pointer: '/triggers/0/filter/labels', detail: expect.stringContaining('1 to 50') },
      { pointer: '/triggers/1/event', detail: expect.stringContaining('issue_opened') },
    ]);
  });
});
