import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '#testing';
import { GitFixture } from '../../libs/testing/src/git/git-fixture.js';
import { GitServer } from '../../libs/testing/src/git/git-server.js';
import { pagerdutyEvent, sentryAlert } from '../support/alert-deliveries.js';
import { GithubApiDouble } from '../support/github-api.js';
import { type GithubDelivery, githubDelivery, signedHeaders } from '../support/github-deliveries.js';
import { GitlabApiDouble } from '../support/gitlab-api.js';
import { Installation, type Program } from '../support/installation.js';
import { followRecipe, recipeText } from '../support/recipe.js';
import { SlackIncomingWebhook } from '../support/slack-incoming-webhook.js';
import { isLong } from '../support/long-tests.js';

const TOKEN = `token-${randomBytes(15).toString('base64url')}`;
const AGENT = { 'harness: { type: claude }': 'harness: { type: oz }' };
const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR'];

let directory: string;
let git: GitServer;
let github: GithubApiDouble;
let gitlab: GitlabApiDouble;
let gitOfGitlab: GitServer;
let slack: SlackIncomingWebhook;
let installation: Installation;
let server: Program;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'headrace-recipes-'));
  chmodSync(directory, 0o711);
  const fixture = new GitFixture(join(directory, 'service'));
  fixture.commit({ 'readme.txt': 'service\n', 'package.json': '{"name":"service"}\n' }, 'Add a text');
  for (const branch of ['feature', 'other', 'merged']) fixture.git('branch', branch);
  for (const name of ['service', 'website']) fixture.publish(join(directory, 'served', 'acme', `${name}.git`));
  github = await GithubApiDouble.start(TOKEN, 'acme/service');
  github.headOf = (branch) => served('service', 'rev-parse', branch);
  git = await GitServer.start({
    root: join(directory, 'served'),
    login: { username: 'x-access-token', password: TOKEN },
  });
  github.webUrl = git.url;
  gitOfGitlab = await GitServer.start({
    root: join(directory, 'served'),
    login: { username: 'oauth2', password: TOKEN },
  });
  gitlab = await GitlabApiDouble.start(TOKEN, 'acme/service');
  gitlab.gitUrl = gitOfGitlab.url;
  slack = await SlackIncomingWebhook.start();
  installation = await Installation.create({
    GITHUB_URL: git.url,
    GITHUB_API_URL: github.url,
    GITLAB_URL: gitlab.url,
    // This test asks often whether something has happened.
    API_RATE_PER_MINUTE: '20000',
    NOTIFY_ALLOW_HTTP: 'true',
    NOTIFY_ALLOW_PRIVATE: 'loopback',
  });
  server = await installation.up();
});
afterAll(async () => {
  await server.stopCleanly('SIGINT');
  await Promise.all([git.stop(), github.stop(), gitOfGitlab.stop(), gitlab.stop(), slack.stop()]);
  installation.remove();
  rmSync(directory, { recursive: true, force: true });
});

describe.runIf(isLong)('a recipe', { timeout: 180_000 }, () => {
  it('repairs the branch of a pull request whose workflow has failed, and stops after three more attempts', async () => {
    const { place, printed } = await follow('failed-ci.md', {
      ...AGENT,
      '  Find the reason.': block('echo repaired >> readme.txt && git commit -qam Repair && git push -q origin HEAD'),
    });
    const automation = uidIn(printed);
    const deliver = deliverTo(urlIn(printed), join(place, 'github-webhook.txt'));
    const { number } = github.addPullRequest({ title: 'Fix', body: '', head: 'feature', base: 'main', draft: false });
    const side = (ref: string) => ({ ref, sha: '0'.repeat(40), repo: { id: 7, url: page, name: 'service' } });
    const page = `${git.url}/acme/service`;
    const pull = { url: `${page}/pulls/${number}`, id: 1, number, head: side('feature'), base: side('main') };
    const failed = (changes: object = {}, name = 'service') =>
      githubDelivery('workflow_run', 'completed', {
        repository: { ...repositoryOf(name), is_template: false },
        workflow_run: {
          ...{ id: randomBytes(4).readUInt32BE(), event: 'pull_request', conclusion: 'failure' },
          ...{ head_branch: 'feature', head_repository: { id: 7 }, pull_requests: [pull] },
          ...changes,
        },
      });

    await deliver(failed({ event: 'push' }));
    await deliver(failed({ head_repository: { id: 8 } }));
    await deliver(failed());
    const [runId] = await runsOf(automation, 1);
    expect(await ended(runId)).toMatchObject({ state: 'SUCCEEDED', metadata: { target: `acme/service#${number}` } });
    expect(subjects('service', 'feature')).toEqual(['Repair', 'Add a text']);
    const shown = () => github.answers.comments.filter((one) => one.number === number).map(({ body }) => body);
    await until(() => shown()[0]?.includes('**has succeeded**') === true, 30_000);

    for (let time = 0; time < 4; time++) await deliver(failed());
    await until(async () => (await turnsOf(runId)) === 3, 60_000);
    const reasons = await reasonsOf(urlIn(printed), 7);
    expect(reasons.join('\n')).toContain(
      `The run ${runId} cannot be continued: It has got 3 follow-ups, the maximum of the automation.`,
    );
    await until(() => subjects('service', 'feature').length === 5, 60_000);
    expect(await ended(runId)).toMatchObject({ state: 'SUCCEEDED' });
    expect(await runsOf(automation, 1)).toEqual([runId]);
    expect(shown()).toHaveLength(1);

    // Another repository of the account.
    await deliver(failed({ pull_requests: [] }, 'website'));
    const [ofWebsite] = (await runsOf(automation, 2)).filter((id) => id !== runId);
    expect(await ended(ofWebsite)).toMatchObject({ state: 'SUCCEEDED' });
    expect(subjects('website', 'feature')).toEqual(['Repair', 'Add a text']);
    expect(github.violations).toEqual([]);
  });

  it('repairs the branch of a merge request on GitLab', async () => {
    const page = 'failed-ci.md';
    const [, source = ''] = /in `payload` `([^`]+)`/.exec(recipeText(page)) ?? [];
    const [, address = ''] = /`(\{\{ [^`]+ \}\})` is the page/.exec(recipeText(page)) ?? [];
    const { place, printed } = await follow(page, {
      ...AGENT,
      '  Find the reason.': block('echo repaired >> readme.txt && git commit -qam Repair && git push -q origin HEAD'),
      "github_repos:\n  - owner: acme\n    repo: '*'\n    secret_name: github-token": `git_repos:\n  - url: ${gitlab.url}/acme/*\n    secret_name: gitlab-token\n    username: oauth2`,
      'secrets set github-token': 'secrets set gitlab-token',
      'webhook create github --auth-mode signature --scheme github':
        'webhook create gitlab --auth-mode signature --scheme gitlab_token',
      'provider: github': 'provider: gitlab',
      'workflow_run: { event: [pull_request] }': source,
      '{{ payload.workflow_run.name }}': address,
      '{{ payload.workflow_run.logs_url }}': address,
    });
    const automation = uidIn(printed);
    const secret = readFileSync(join(place, 'github-webhook.txt'), 'utf8').trim();
    // As in https://docs.gitlab.com/user/project/integrations/webhook_events/#pipeline-events
    const deliver = async (from: string): Promise<void> => {
      const url = `${gitlab.url}/acme/service`;
      const headers = { 'x-gitlab-event': 'Pipeline Hook', 'x-gitlab-token': secret };
      const body = JSON.stringify({
        object_kind: 'pipeline',
        object_attributes: {
          id: 31,
          ref: 'merged',
          tag: false,
          source: from,
          status: 'failed',
          url: `${url}/-/pipelines/31`,
        },
        merge_request: {
          ...{ id: 1, iid: 1, title: 'Test', source_branch: 'merged', target_branch: 'main', state: 'opened' },
          ...{ source_project_id: 1, target_project_id: 1, url: `${url}/-/merge_requests/1` },
        },
        user: { id: 1, name: 'Administrator', username: 'root' },
        project: { id: 1, name: 'service', web_url: url, path_with_namespace: 'acme/service', default_branch: 'main' },
      });
      await post(
        urlIn(printed),
        { 'content-type': 'application/json', 'x-gitlab-event-uuid': randomUUID(), ...headers },
        body,
      );
    };

    await deliver('push');
    await deliver('merge_request_event');
    const [runId] = await runsOf(automation, 1);
    expect(await ended(runId)).toMatchObject({ state: 'SUCCEEDED', source: 'GITLAB_WEBHOOK' });
    expect(subjects('service', 'merged')).toEqual(['Repair', 'Add a text']);
    await until(() => gitlab.notes.some(({ body }) => body.includes('**has succeeded**')), 30_000);
    expect(gitlab.notes.map(({ of }) => of)).toEqual(['merge_requests/1']);
    await reasonsOf(urlIn(printed), 2);
    expect(await runsOf(automation, 1)).toEqual([runId]);
  });

  it('changes the pull request of a person as its reviewers ask', async () => {
    const gate = join(directory, 'review-gate');
    const { place, printed } = await follow('review-comments.md', {
      ...AGENT,
      '  Commit and push to the branch': block(
        `until test -e ${gate}; do sleep 0.05; done; echo changed >> readme.txt && git commit -qam Change && git push -q origin HEAD`,
      ),
      // There is one for the events of GitHub already.
      'headrace webhook create github ': 'headrace webhook create reviews ',
    });
    const automation = uidIn(printed);
    const deliver = deliverTo(urlIn(printed), join(place, 'github-webhook.txt'));
    const pull = github.addPullRequest({ title: 'Other', body: '', head: 'other', base: 'main', draft: false });
    const repository = repositoryOf('service');
    const page = `${git.url}/acme/service/pull/${pull.number}`;
    const onLine = (body: string, association = 'MEMBER') =>
      githubDelivery('pull_request_review_comment', 'created', {
        repository,
        comment: { id: randomBytes(4).readUInt32BE(), body, author_association: association },
        pull_request: { number: pull.number, html_url: page, head: { ref: 'other', repo: { id: 7 } } },
      });
    const onPull = githubDelivery('issue_comment', 'created', {
      repository,
      issue: { number: pull.number, active_lock_reason: null, html_url: page, pull_request: linksOf(page) },
      comment: { body: '@headrace and the second paragraph', author_association: 'MEMBER' },
    });

    await deliver(onLine('please use another word'));
    await deliver(onLine('@headrace please use another word', 'NONE'));
    await deliver(onLine('@headrace please use another word'));
    const [runId] = await runsOf(automation, 1);
    await installation.waitFor(runId ?? '', ['INPROGRESS']);
    await deliver(onPull);
    await deliver(onLine('@headrace also here'));
    await reasonsOf(urlIn(printed), 5);
    expect(await turnsOf(runId)).toBe(2);
    expect(subjects('service', 'other')).toEqual(['Add a text']);
    writeFileSync(gate, '');
    await until(() => subjects('service', 'other').length === 4, 60_000);
    expect(await ended(runId)).toMatchObject({ state: 'SUCCEEDED' });
    expect(await runsOf(automation, 1)).toEqual([runId]);
    const { comments, reactions } = github.answers;
    await until(
      () => comments.some(({ number, body }) => number === pull.number && body.includes('**has succeeded**')),
      30_000,
    );
    expect(comments.filter(({ number }) => number === pull.number)).toHaveLength(1);
    expect(reactions.length).toBeGreaterThanOrEqual(3);

    const [, policy = ''] =
      /concurrency: \{ policy: (debounce), delay_seconds: 60 \}/.exec(recipeText('review-comments.md')) ?? [];
    const path = `/factories/${installation.connection.factory_uid}/automations/${automation}`;
    const { body: stored } = await installation.call('GET', path);
    const changed = { ...stored, concurrency: { policy, delay_seconds: 5 } };
    expect((await installation.call('PUT', path, changed)).status).toBe(200);
    for (const text of ['one', 'two', 'three']) await deliver(onLine(`@headrace ${text}`));
    // An event that is evaluated after a newer one starts nothing.
    await reasonsOf(urlIn(printed), 8);
    await until(() => subjects('service', 'other').length === 5, 60_000);
    const { runs } = (await installation.call('GET', `/agent/runs?automation_id=${automation}`)).body;
    const debounced = runs.map(({ run_id: id }: { run_id: string }) => id).filter((id: string) => id !== runId);
    const states = await Promise.all(
      debounced.map(async (id: string) => (await installation.waitFor(id, [...ENDED, 'CANCELLED'])).state),
    );
    expect(states.filter((state) => state !== 'CANCELLED')).toEqual(['SUCCEEDED']);
    expect(github.violations).toEqual([]);
  });

  it('reports the pull request of a nightly update to Slack', async () => {
    slack.messages.length = 0;
    const script =
      'git switch -qc headrace/dependencies && echo 2 > lock.txt && git add . && git commit -qm Update && git push -q origin HEAD';
    const prompt = JSON.stringify(
      `\n\`\`\`sh\n${script}\n\`\`\`\n\`\`\`tool name=create_pull_request\n{"title":"Update dependencies"}\n\`\`\`\n`,
    ).slice(1, -1);
    const { printed } = await follow('nightly-updates.md', {
      '"type": "claude"': '"type": "oz"',
      '- npm ci': '- node -e "require(\'./package.json\')"',
      'Update the dependencies of this repository within their ranges, and run the tests.': prompt,
    });
    expect(printed).toContain('SUCCEEDED');
    await until(() => slack.messages.length > 0, 30_000);
    const [message] = slack.messages;
    expect(message?.text).toBe('Run succeeded: Update dependencies');
    const created = github.pullRequests.find(({ head }) => head === 'headrace/dependencies');
    expect(JSON.stringify(message)).toContain(`/acme/service/pull/${created?.number}|`);
    const unrelated = await installation.createRun(
      '```artifact type=PULL_REQUEST url=https://github.com/acme/other/pull/1 branch=x\n```',
    );
    expect((await ended(unrelated)).artifacts).toHaveLength(1);
    const { notification_webhooks: webhooks } = (await installation.call('GET', '/notification-webhooks')).body;
    const reported = async ({ uid }: { uid: string }): Promise<number> =>
      (await installation.call('GET', `/notification-webhooks/${uid}/deliveries`)).body.deliveries.length;
    const counts = await Promise.all(webhooks.map(reported));
    expect(counts.toSorted()).toEqual([0, 1]);
    expect([slack.messages.length, slack.errors]).toEqual([1, []]);
  });

  it('reports the investigation of an alert to Slack, once for an issue', async () => {
    slack.messages.length = 0;
    const gate = join(directory, 'alert-gate');
    const tool = '```tool name=get_event_payload\n  {"pointer":"/data/event/title"}\n  ```';
    const { place, printed } = await follow(
      'alerts.md',
      {
        ...AGENT,
        '/data/event/exception. Find the reason': `/data/event/exception.\n\n  ${tool}\n${block(`until test -e ${gate}; do sleep 0.05; done`)}  Find the reason`,
      },
      { 'sentry-secret.txt': 'client-secret-of-the-integration\n' },
    );
    const secret = readFileSync(join(place, 'sentry-secret.txt'), 'utf8').trim();
    const url = urlIn(printed);
    const automation = uidIn(printed);
    const deliver = ({ headers, body }: ReturnType<typeof sentryAlert>) => post(url, headers, body);

    await deliver(sentryAlert(secret, { level: 'warning' }));
    await deliver(sentryAlert(secret));
    const [runId] = await runsOf(automation, 1);
    await deliver(sentryAlert(secret));
    expect((await reasonsOf(url, 3)).join('\n')).toContain(`The run ${runId} for the same key is active.`);
    await deliver(sentryAlert(secret, { issueId: '1117540177' }));
    await runsOf(automation, 2);
    writeFileSync(gate, '');
    await until(() => slack.messages.length === 2, 60_000);
    for (const message of slack.messages) {
      expect(message.text).toBe('Run succeeded: investigate');
      expect(JSON.stringify(message)).toContain('ReferenceError: heck is not defined');
    }
    expect(slack.errors).toEqual([]);
    await deliver(sentryAlert(secret));
    await runsOf(automation, 3);
  });

  it('does the same for PagerDuty', async () => {
    const text = recipeText('alerts.md');
    const [, filter = ''] = /\| `payload` of the filter +\| `([^`]+)`/.exec(text) ?? [];
    const [, key = ''] = /\| `concurrency.key` +\| `([^`]+)`/.exec(text) ?? [];
    const { printed, place } = await follow(
      'alerts.md',
      {
        ...AGENT,
        '--scheme sentry': '--scheme pagerduty',
        'webhook create sentry': 'webhook create pagerduty',
        "'sentry {{ payload.data.event.issue_id }}'": key,
        'action: [triggered]': filter,
        '        data: { event: { level: [error, fatal] } }\n': '',
        'payload.data.event.title': 'payload.event.data.title',
      },
      { 'sentry-secret.txt': 'secret-of-the-subscription\n' },
    );
    const secret = readFileSync(join(place, 'sentry-secret.txt'), 'utf8').trim();
    const automation = uidIn(printed);
    for (const type of ['incident.resolved', 'incident.triggered']) {
      const { headers, body } = pagerdutyEvent(secret, type);
      await post(urlIn(printed), headers, body);
    }
    const [runId] = await runsOf(automation, 1);
    expect(await ended(runId)).toMatchObject({ state: 'SUCCEEDED' });
    await reasonsOf(urlIn(printed), 2);
    expect(await runsOf(automation, 1)).toEqual([runId]);
  });
});

/** A shell block in a prompt of a YAML file, which the built-in agent executes. */
const block = (script: string): string => `  \`\`\`sh\n  ${script}\n  \`\`\`\n  `;

async function follow(
  page: string,
  changes: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
) {
  const place = mkdtempSync(join(directory, 'place-'));
  const given = { 'github-token.txt': TOKEN, 'anthropic-key.txt': 'sk-ant-1', 'slack-url.txt': slack.url, ...files };
  for (const [name, content] of Object.entries(given)) writeFileSync(join(place, name), content);
  return { place, printed: await followRecipe(page, place, installation, changes) };
}

const urlIn = (printed: string): string => /http\S+\/webhooks\/w\/\w+/.exec(printed)?.[0] ?? '';
const uidIn = (printed: string): string => printed.trim().split(/\s+/).at(-1) ?? '';
const repositoryOf = (name: string) => ({
  ...{ id: 7, full_name: `acme/${name}`, name },
  html_url: `${git.url}/acme/${name}`,
});
const linksOf = (page: string) => ({ url: page, html_url: page, diff_url: `${page}.diff`, patch_url: `${page}.patch` });

function served(name: string, ...command: readonly string[]): string {
  const place = ['-c', 'safe.directory=*', '-C', join(directory, 'served', 'acme', `${name}.git`)];
  return execFileSync('git', [...place, ...command], { encoding: 'utf8' }).trim();
}
const subjects = (name: string, branch: string): string[] => served(name, 'log', '--format=%s', branch).split('\n');

async function post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<void> {
  const response = await fetch(url, { method: 'POST', headers, body });
  expect([response.status, await response.text()]).toEqual([202, expect.any(String)]);
}
function deliverTo(url: string, secretFile: string) {
  const secret = readFileSync(secretFile, 'utf8').trim();
  return (delivery: GithubDelivery) => post(url, signedHeaders(delivery, randomUUID(), secret), delivery.body);
}

/** The runs of an automation, as soon as there are so many. */
async function runsOf(automation: string, count: number): Promise<string[]> {
  const list = async () => (await installation.call('GET', `/agent/runs?automation_id=${automation}`)).body.runs;
  await until(async () => (await list()).length >= count, 60_000);
  const ids = (await list()).map(({ run_id: id }: { run_id: string }) => id);
  expect(ids).toHaveLength(count);
  return ids;
}

const ended = (runId = '') => installation.waitFor(runId, ENDED, 60_000);

async function turnsOf(runId = ''): Promise<number> {
  const { status, body } = await installation.call('GET', `/agent/runs/${runId}/timeline`);
  expect([status, body]).toMatchObject([200, {}]);
  return body.events.filter(({ event_type: type }: { event_type: string }) => type === 'followup_received').length;
}

/** Why deliveries of a webhook have started nothing, as soon as so many are evaluated. */
async function reasonsOf(url: string, count: number): Promise<string[]> {
  const path = `/factories/${installation.connection.factory_uid}/webhooks/${url.split('/').at(-1)}/deliveries`;
  const results = async (): Promise<{ reason?: string }[][]> => {
    const { deliveries } = (await installation.call('GET', path)).body;
    return deliveries.flatMap(({ automation_results: evaluated }: { automation_results?: object[] }) =>
      evaluated === undefined ? [] : [evaluated],
    );
  };
  await until(async () => (await results()).length >= count, 30_000);
  return (await results()).flat().map(({ reason = '' }) => reason);
}
