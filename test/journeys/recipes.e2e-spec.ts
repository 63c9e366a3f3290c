import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '#testing';
import { GitFixture } from '../../libs/testing/src/git/git-fixture.js';
import { GitServer } from '../../libs/testing/src/git/git-server.js';
import { type GithubDelivery, githubDelivery, signedHeaders } from '../support/github-deliveries.js';
import { answersIn, Installation, type Program } from '../support/installation.js';
import { followRecipe, recipeText } from '../support/recipe.js';
import { SlackApiDouble } from '../support/slack-api.js';
import { BOT, CHANNEL, mention, message, slackSignature } from '../support/slack-deliveries.js';
import { isLong } from '../support/long-tests.js';

const TOKEN = `token-${randomBytes(15).toString('base64url')}`;

let directory: string;
let git: GitServer;
let installation: Installation;
let server: Program;
let slack: SlackApiDouble;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'headrace-recipes-'));
  chmodSync(directory, 0o711);
  const fixture = new GitFixture(join(directory, 'service'));
  fixture.commit({ 'readme.txt': 'service\n' }, 'Add a text');
  for (const name of ['service', 'website', 'manual'])
    fixture.publish(join(directory, 'served', 'acme', `${name}.git`));
  git = await GitServer.start({
    root: join(directory, 'served'),
    login: { username: 'x-access-token', password: TOKEN },
  });
  slack = await SlackApiDouble.start(TOKEN, [CHANNEL]);
  // Nothing here starts the agent that it names: the file has to be valid.
  const [, harnesses = ''] = /```json file=harnesses\.json\n([\s\S]*?)```/.exec(recipeText('README.md')) ?? [];
  const harnessesFile = join(directory, 'harnesses.json');
  writeFileSync(harnessesFile, harnesses);
  const settings = { GITHUB_URL: git.url, SLACK_API_URL: slack.url, HARNESSES_FILE: harnessesFile };
  installation = await Installation.create(settings);
  server = await installation.up();
});
afterAll(async () => {
  await server.stopCleanly('SIGINT');
  await git.stop();
  await slack.stop();
  installation.remove();
  rmSync(directory, { recursive: true, force: true });
});

/** The working directory of a page. */
function placeOf(page: string): string {
  const place = join(directory, page);
  mkdirSync(place, { recursive: true });
  return place;
}

const follow = (page: string, changes: Readonly<Record<string, string>>): Promise<string> =>
  followRecipe(page, placeOf(page), installation, changes);

describe.runIf(isLong)('a recipe', { timeout: 120_000 }, () => {
  it('makes pull requests of issues on GitHub', async () => {
    const page = 'github-pull-requests.md';
    writeFileSync(join(placeOf(page), 'github-token.txt'), TOKEN);
    const printed = await follow(page, { 'harness: claude': 'harness: oz' });
    const secret = readFileSync(join(placeOf(page), 'github-webhook.txt'), 'utf8').trim();
    const deliver = (delivery: GithubDelivery) =>
      post(urlIn(printed), signedHeaders(delivery, randomUUID(), secret), delivery.body);
    const repository = { full_name: 'acme/service', name: 'service' };
    const commented = (association: string) =>
      githubDelivery('issue_comment', 'created', {
        repository,
        issue: { active_lock_reason: null },
        comment: { author_association: association, body: '@headrace please use another word' },
      });

    await deliver(githubDelivery('issues', 'labeled', { repository, label: { name: 'other' } }));
    await deliver(githubDelivery('issues', 'labeled', { repository, label: { name: 'agent' } }));
    const runId = await firstRun('GITHUB_WEBHOOK', 'acme/service#1');
    await deliver(commented('NONE'));
    await deliver(commented('MEMBER'));
    await until(async () => (await turnsOf(runId)) > 0, 30_000);
    // Of a pull request that no run has created, by a member: a review, and a comment on a line.
    const pull_request = { number: 77, author_association: 'MEMBER' };
    const review = { author_association: 'MEMBER', body: 'please use another word' };
    await deliver(githubDelivery('pull_request_review', 'submitted', { repository, pull_request, review }));
    const comment = { author_association: 'MEMBER', body: 'please use another word' };
    await deliver(githubDelivery('pull_request_review_comment', 'created', { repository, pull_request, comment }));
    // Of a branch that no run has created.
    await deliver(
      githubDelivery('workflow_run', 'completed', {
        repository: { ...repository, is_template: false },
        workflow_run: { conclusion: 'failure', head_branch: 'main', pull_requests: [] },
      }),
    );
    await expectOnly(runId, 'GITHUB_WEBHOOK', printed);
  });

  it('starts a run for each of several repositories, and joins their results', async () => {
    const page = 'fan-out.md';
    writeFileSync(join(placeOf(page), 'github-token.txt'), TOKEN);
    const child = '```sh\\nbasename $(git remote get-url origin); cat readme.txt\\n```';
    const block = (name: string, input: string): string => `printf '%s\\n' '\`\`\`tool name=${name}' ${input} '\`\`\`'`;
    // What an agent with a model makes of the prompt.
    const printed = await follow(page, {
      'echo "- acme/$repository: environment_id $ENVIRONMENT"': block(
        'start_run',
        `'{"prompt":"${child}","environment_id":"'$ENVIRONMENT'"}'`,
      ),
      'RUN=$(': `${block('wait_for_runs', '')} >> prompt.md\nRUN=$(`,
      '--harness claude': '--harness oz',
    });
    expect(printed).toContain('SUCCEEDED');
    const { runs } = (await installation.call('GET', '/agent/runs?q=Replace+formatDate')).body;
    const [run] = runs;
    expect(run).toMatchObject({ title: 'Replace formatDate', state: 'SUCCEEDED' });
    const below = (await installation.call('GET', `/agent/runs?ancestor_run_id=${run.run_id}`)).body.runs;
    expect(below).toHaveLength(3);
    const saidBy = async (runId: string): Promise<string> =>
      answersIn((await installation.call('GET', `/agent/runs/${runId}/conversation`)).body);
    const said = await saidBy(run.run_id);
    expect(said).toContain('3 of 3 runs have ended.');
    const children = await Promise.all(below.map(async ({ run_id: id }: { run_id: string }) => [id, await saidBy(id)]));
    for (const name of ['service', 'website', 'manual']) {
      const found = children.filter(([, text]) => text.includes(`${name}.git`));
      expect(found).toHaveLength(1);
      expect(said).toContain(found[0][0]);
    }
  });

  it('makes merge requests of issues on GitLab', async () => {
    const page = 'gitlab-merge-requests.md';
    writeFileSync(join(placeOf(page), 'gitlab-token.txt'), TOKEN);
    const changes = {
      'harness: claude': 'harness: oz',
      'https://gitlab.com/group/': `${git.url}/acme/`,
      'project.git': 'service.git',
      oauth2: 'x-access-token',
    };
    const printed = await follow(page, changes);
    const secret = readFileSync(join(placeOf(page), 'gitlab-webhook.txt'), 'utf8').trim();
    const deliver = (kind: string, payload: object) => {
      const body = JSON.stringify({ project: { path_with_namespace: 'group/project' }, ...payload });
      const headers = { 'x-gitlab-event': kind, 'x-gitlab-token': secret, 'x-gitlab-event-uuid': randomUUID() };
      return post(urlIn(printed), { 'content-type': 'application/json', ...headers }, body);
    };
    const comment = (username: string) => ({
      object_kind: 'note',
      user: { username },
      object_attributes: { note: '@headrace please use another word', noteable_type: 'Issue', action: 'create' },
      issue: { iid: 7 },
    });
    const onLine = {
      object_kind: 'note',
      user: { username: 'ada' },
      object_attributes: {
        note: 'please use another word',
        noteable_type: 'MergeRequest',
        type: 'DiffNote',
        action: 'create',
      },
      merge_request: { iid: 8, url: `${git.url}/group/project/-/merge_requests/8` },
    };

    await deliver('Issue Hook', {
      object_kind: 'issue',
      user: { username: 'ada' },
      object_attributes: { iid: 7, action: 'update' },
      changes: { labels: { previous: [], current: [{ title: 'agent' }] } },
    });
    const runId = await firstRun('GITLAB_WEBHOOK', 'group/project#7');
    await deliver('Note Hook', comment('eve'));
    await deliver('Note Hook', comment('ada'));
    await until(async () => (await turnsOf(runId)) > 0, 30_000);
    // Of a merge request that no run has created.
    await deliver('Note Hook', onLine);
    await deliver('Pipeline Hook', { object_kind: 'pipeline', object_attributes: { status: 'failed', ref: 'main' } });
    await expectOnly(runId, 'GITLAB_WEBHOOK', printed);
  });

  it('makes runs of threads in Slack', async () => {
    const page = 'slack-threads.md';
    const secret = randomBytes(16).toString('hex');
    writeFileSync(join(placeOf(page), 'slack-signing.txt'), secret);
    writeFileSync(join(placeOf(page), 'slack-token.txt'), TOKEN);
    const printed = await follow(page, { 'harness: claude': 'harness: oz' });
    const url = urlIn(printed);
    // In the manifest, for events and for buttons.
    expect(printed.split(`request_url: ${url}`)).toHaveLength(3);
    const send = (payload: object) => {
      const body = JSON.stringify(payload);
      const headers = { 'content-type': 'application/json', ...slackSignature(body, secret) };
      return fetch(url, { method: 'POST', headers, body });
    };
    const verified = await send({
      token: 'Jhj5dZrVaK7ZwHHjRyZWjbDl',
      challenge: '3eZbrw1aB',
      type: 'url_verification',
    });
    expect([verified.status, await verified.text()]).toEqual([200, '3eZbrw1aB']);

    const thread = '1515449522.000016';
    await send(message({ text: 'Nobody is asked.', thread_ts: thread }));
    expect((await send(mention({ text: `<@${BOT}> hello`, ts: thread }))).status).toBe(202);
    await until(async () => (await runsFrom('SLACK')).length === 1, 30_000);
    const [{ run_id: runId }] = await runsFrom('SLACK');
    await installation.waitFor(runId, ['SUCCEEDED'], 60_000);
    const shows = (text: string) => JSON.stringify(slack.messages[0]?.blocks ?? '').includes(text);
    await until(() => Promise.resolve(shows('has succeeded') && slack.reactions.length === 2), 30_000);
    await send(message({ text: 'And now?', thread_ts: thread, ts: '1515449530.000020' }));
    await until(async () => (await turnsOf(runId)) === 1, 30_000);
    await expectOnly(runId, 'SLACK', printed);
    await until(() => Promise.resolve(slack.reactions.includes('1515449530.000020 white_check_mark')), 30_000);
    expect(slack.messages).toMatchObject([{ channel: CHANNEL, thread_ts: thread }]);
    expect(slack.violations).toEqual([]);
  });
});

const urlIn = (printed: string): string => /http\S+\/webhooks\/w\/\w+/.exec(printed)?.[0] ?? '';
/** The factory to which `apply` has applied the files of the page. */
const factoryIn = (printed: string): string => /^Factory .*\((\w+)\), \d+ files/m.exec(printed)?.[1] ?? '';

async function post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<void> {
  const response = await fetch(url, { method: 'POST', headers, body });
  expect([response.status, await response.text()]).toEqual([202, expect.any(String)]);
}

const runsFrom = async (source: string) => (await installation.call('GET', `/agent/runs?source=${source}`)).body.runs;

async function firstRun(source: string, target: string): Promise<string> {
  await until(async () => (await runsFrom(source)).length === 1, 30_000);
  const [{ run_id: runId }] = await runsFrom(source);
  const run = await installation.waitFor(runId, ['SUCCEEDED', 'FAILED', 'ERROR'], 60_000);
  expect(run).toMatchObject({ state: 'SUCCEEDED', title: 'fix-issue', metadata: { target } });
  return runId;
}

async function turnsOf(runId: string): Promise<number> {
  const { events } = (await installation.call('GET', `/agent/runs/${runId}/timeline`)).body;
  return events.filter(({ event_type: type }: { event_type: string }) => type === 'followup_received').length;
}

/** All deliveries are evaluated, and the run got one follow-up. */
async function expectOnly(runId: string, source: string, printed: string): Promise<void> {
  const path = `/factories/${factoryIn(printed)}/webhooks/${urlIn(printed).split('/').at(-1)}/deliveries`;
  const results = async () => {
    const { status, body } = await installation.call('GET', path);
    expect([status, body]).toMatchObject([200, {}]);
    const { deliveries } = body;
    return (deliveries as { outcome?: string; automation_results?: object[] }[])
      .filter(({ outcome }) => outcome === 'Accepted')
      .map(({ automation_results: evaluated }) => evaluated);
  };
  await until(async () => (await results()).every((evaluated: object[] | undefined) => evaluated), 30_000);
  await installation.waitFor(runId, ['SUCCEEDED'], 60_000);
  expect([await turnsOf(runId), (await runsFrom(source)).length]).toEqual([1, 1]);
}
