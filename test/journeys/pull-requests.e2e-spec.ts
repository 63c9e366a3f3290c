import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GitFixture } from '../../libs/testing/src/git/git-fixture.js';
import { GitServer } from '../../libs/testing/src/git/git-server.js';
import { until } from '#testing';
import { GithubApiDouble } from '../support/github-api.js';
import { GitlabApiDouble } from '../support/gitlab-api.js';
import { type GithubDelivery, githubDelivery, signedHeaders } from '../support/github-deliveries.js';
import { Installation, type Program } from '../support/installation.js';

const TOKEN = `token-${randomBytes(15).toString('base64url')}`;
let root: string;
let git: GitServer;
let github: GithubApiDouble;
let gitOfGitlab: GitServer;
let gitlab: GitlabApiDouble;
let installation: Installation;
let server: Program;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'headrace-pull-requests-'));
  chmodSync(root, 0o711);
  const fixture = new GitFixture(join(root, 'app'));
  fixture.commit({ 'readme.txt': 'app\n' }, 'Add a text');
  fixture.publish(join(root, 'served', 'acme', 'app.git'));
  const other = new GitFixture(join(root, 'other'));
  other.commit({ 'readme.txt': 'other\n' }, 'Add a text');
  other.git('branch', 'draft');
  other.publish(join(root, 'served', 'acme', 'other.git'));
  github = await GithubApiDouble.start(TOKEN, 'acme/app');
  const login = {
    username: 'x-access-token',
    get password() {
      return github.token;
    },
  };
  git = await GitServer.start({ root: join(root, 'served'), login });
  gitOfGitlab = await GitServer.start({
    root: join(root, 'served'),
    login: { username: 'oauth2', password: TOKEN },
  });
  gitlab = await GitlabApiDouble.start(TOKEN, 'acme/app');
  gitlab.gitUrl = gitOfGitlab.url;
  installation = await Installation.create({ GITHUB_URL: git.url, GITHUB_API_URL: github.url, GITLAB_URL: gitlab.url });
  server = await installation.up();
});

afterAll(async () => {
  expect(await server.stop('SIGINT')).toBe(0);
  await Promise.all([git.stop(), github.stop(), gitOfGitlab.stop(), gitlab.stop()]);
  installation.remove();
  rmSync(root, { recursive: true, force: true });
});

describe('a run in a repository on GitHub', { timeout: 90_000 }, () => {
  it('commits, pushes and creates a pull request with the credential of its environment', async () => {
    expect((await installation.call('PUT', '/secrets/github-token', { value: TOKEN })).status).toBeLessThan(300);
    const config = { name: 'app', github_repos: [{ owner: 'acme', repo: 'app', secret_name: 'github-token' }] };
    const { body: environment } = await installation.call('POST', '/environments', { config });
    const prompt = [
      '```sh\ngit switch --quiet --create fix && echo fixed > readme.txt && git commit --quiet -am "Fix the text" && git push --quiet origin fix\n```',
      `\`\`\`tool name=create_pull_request\n${JSON.stringify({ title: 'Fix the text', body: 'It was wrong.' })}\n\`\`\``,
    ].join('\n');
    const runId = await installation.createRun(prompt, { config: { environment_id: environment.uid as string } });
    const run = await installation.waitFor(runId, ['SUCCEEDED', 'FAILED', 'ERROR'], 60_000);
    const url = `${github.url}/acme/app/pull/1`;
    expect(run).toMatchObject({ state: 'SUCCEEDED' });
    expect(run.artifacts).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ artifact_type: 'PULL_REQUEST', data: { url, branch: 'fix', status: 'open' } }),
        expect.objectContaining({
          artifact_type: 'EXTERNAL_REFERENCE',
          data: expect.objectContaining({ reference_type: 'branch' }),
        }),
      ]),
    );
    expect(github.pullRequests).toEqual([
      {
        number: 1,
        title: 'Fix the text',
        body: 'It was wrong.\n\n<!-- headrace -->',
        head: 'fix',
        base: 'main',
        draft: false,
      },
    ]);
    expect(github.violations).toEqual([]);
    const served = ['-c', 'safe.directory=*', '-C', join(root, 'served', 'acme', 'app.git')];
    expect(execFileSync('git', [...served, 'log', '-1', '--format=%an %s', 'fix'], { encoding: 'utf8' })).toBe(
      'Headrace Fix the text\n',
    );
    const found = await installation.call('GET', `/agent/run-by-external-reference?url=${encodeURIComponent(url)}`);
    expect([found.status, found.body.run_id]).toEqual([200, runId]);
    const answers = await Promise.all(
      ['', '/timeline', '/conversation'].map((path) => installation.call('GET', `/agent/runs/${runId}${path}`)),
    );
    expect(JSON.stringify(answers.map(({ body }) => body))).not.toContain(TOKEN);
  });

  it('works in the repository that the run names, with the credential of the pattern, and in no other one', async () => {
    const repositories = [{ owner: 'acme', repo: '*', secret_name: 'github-token' }];
    const config = { name: 'any', github_repos: repositories };
    const { body: environment } = await installation.call('POST', '/environments', { config });
    const prompt =
      '```sh\ngit branch --show-current && cat readme.txt && echo more > more.txt && git add . && git commit --quiet -m More && git push --quiet origin HEAD && ' +
      `! git ls-remote ${git.url}/acme/app.git\n\`\`\``;
    const repository = { url: `${git.url}/acme/other`, ref: 'draft' };
    const runId = await installation.createRun(prompt, {
      config: { environment_id: environment.uid as string, repository },
    });
    const run = await installation.waitFor(runId, ['SUCCEEDED', 'FAILED', 'ERROR'], 60_000);
    expect(run, JSON.stringify(run.status_message)).toMatchObject({ state: 'SUCCEEDED' });
    const { body } = await installation.call('GET', `/agent/runs/${runId}/conversation`);
    expect(JSON.stringify(body)).toContain('draft\\nother');
    const served = ['-c', 'safe.directory=*', '-C', join(root, 'served', 'acme', 'other.git')];
    expect(execFileSync('git', [...served, 'log', '-1', '--format=%s', 'draft'], { encoding: 'utf8' })).toBe('More\n');
  });

  it('starts for a labelled issue, continues after a review, and knows that the pull request was merged', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const value = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    expect((await installation.call('PUT', '/secrets/github-key', { value })).status).toBeLessThan(300);
    const permissions = {
      checks: 'write',
      contents: 'write',
      issues: 'write',
      metadata: 'read',
      pull_requests: 'write',
    };
    github.app = { id: 815, publicKey, permissions, isInstalled: true, tokenMs: 3_600_000 };
    github.headOf = headOf;
    const repositories = [{ owner: 'acme', repo: 'app', secret_name: 'github-key', github_app_id: 815 }];
    const config = { name: 'team', github_repos: repositories };
    const { uid: environment } = await created('/environments', { config, team: true });
    const factory = `/factories/${installation.connection.factory_uid}`;
    const secret = randomBytes(20).toString('hex');
    const signature = { auth_mode: 'signature', signature_scheme: 'github', secret };
    const { ingress_url: ingress } = await created(`${factory}/webhooks`, { name: 'github', ...signature });
    const agent = { enabled: true, agent_config: { environment_id: environment } };
    const { uid: fixer } = await created(`${factory}/automations`, {
      ...agent,
      name: 'fix',
      prompt: [
        '```sh\ngit switch --quiet --create issue-1 && echo fixed > issue.txt && git add . && git commit --quiet -m "Fix the issue" && git push --quiet origin issue-1\n```',
        '```tool name=create_pull_request\n{"title":"Fix the issue"}\n```',
      ].join('\n'),
      triggers: [{ provider: 'github', event: 'issue_labeled', filter: { labels: ['agent'] } }],
    });
    await created(`${factory}/automations`, {
      ...agent,
      name: 'revise',
      prompt:
        '```sh\necho revised > issue.txt && git commit --quiet -am "Revise the fix" && git push --quiet origin issue-1\n```',
      triggers: [{ provider: 'github', event: 'pull_request_reviewed' }],
      concurrency: { policy: 'continue' },
    });
    const deliver = async (delivery: GithubDelivery): Promise<void> => {
      const headers = signedHeaders(delivery, randomUUID(), secret);
      const response = await fetch(ingress as string, { method: 'POST', headers, body: delivery.body });
      expect([response.status, await response.text()]).toEqual([202, expect.stringContaining('delivery_id')]);
    };
    const repository = { full_name: 'acme/app', name: 'app', html_url: `${git.url}/acme/app` };

    await deliver(githubDelivery('issues', 'labeled', { repository, label: { name: 'agent' } }));
    const listed = async () => (await installation.call('GET', `/agent/runs?automation_id=${fixer}`)).body.runs;
    await until(async () => (await listed()).length === 1, 30_000);
    const [{ run_id: runId }] = await listed();
    const first = await installation.waitFor(runId, ['SUCCEEDED', 'FAILED', 'ERROR'], 60_000);
    expect(first, JSON.stringify(first.status_message)).toMatchObject({ state: 'SUCCEEDED', source: 'GITHUB_WEBHOOK' });
    const url = pullRequestOf(first).data.url;
    expect(url).toMatch(/\/acme\/app\/pull\/\d+$/);
    const number = Number(url.split('/').at(-1));
    const { comments, checkRuns, reactions } = github.answers;
    const shown = (of: number) => comments.filter((one) => one.number === of).map(({ body }) => body);
    await until(() => shown(1)[0]?.includes('**has succeeded**') === true, 30_000);
    expect(shown(1)).toHaveLength(1);
    expect(shown(1)[0]).toContain(`- ${url} (open)`);
    expect(reactions).toEqual(['issues/1']);
    const start = headOf('issue-1');
    const check = { name: 'headrace: fix', external_id: runId, details_url: expect.stringContaining(runId) };
    await until(() => checkRuns[0]?.conclusion === 'success', 30_000);
    expect(checkRuns).toMatchObject([{ ...check, head_sha: start, status: 'completed' }]);

    const reviewed = { repository, pull_request: { number, html_url: url, draft: false } };
    await deliver(githubDelivery('pull_request_review', 'submitted', reviewed));
    await until(() => commitsOf('issue-1')[0] === 'Revise the fix', 60_000);
    expect(commitsOf('issue-1')).toEqual(['Revise the fix', 'Fix the issue', 'Add a text']);
    expect((await installation.waitFor(runId, ['SUCCEEDED'], 60_000)).run_id).toBe(runId);
    expect(await listed()).toHaveLength(1);
    await until(() => checkRuns.length === 2 && checkRuns.every(({ conclusion }) => conclusion === 'success'), 30_000);
    expect(checkRuns.map(({ head_sha: sha }) => sha)).toEqual([start, headOf('issue-1')]);
    await until(() => shown(number)[0]?.includes('**has succeeded**') === true, 30_000);
    expect([shown(1).length, shown(number).length]).toEqual([1, 1]);

    const at = '2100-01-01T00:00:00Z';
    const merged = { html_url: url, state: 'closed', merged: true, merged_at: at, closed_at: at, updated_at: at };
    await deliver(githubDelivery('pull_request', 'closed', { repository, pull_request: merged }));
    await until(async () => pullRequestOf(await installation.run(runId)).data.status === 'merged', 30_000);
    await until(() => shown(number)[0]?.includes(`- ${url} (merged)`) === true, 30_000);
    expect(github.violations).toEqual([]);
  });

  it('does the same on GitLab with an access token', async () => {
    expect((await installation.call('PUT', '/secrets/gitlab-token', { value: TOKEN })).status).toBeLessThan(300);
    gitlab.headOf = headOf;
    const repositories = [{ url: `${gitlab.url}/acme/app.git`, secret_name: 'gitlab-token', username: 'oauth2' }];
    const config = { name: 'gitlab', git_repos: repositories };
    const { uid: environment } = await created('/environments', { config, team: true });
    const factory = `/factories/${installation.connection.factory_uid}`;
    const secret = randomBytes(20).toString('hex');
    const signature = { auth_mode: 'signature', signature_scheme: 'gitlab_token', secret };
    const { ingress_url: ingress } = await created(`${factory}/webhooks`, { name: 'gitlab', ...signature });
    const agent = { enabled: true, agent_config: { environment_id: environment } };
    const { uid: fixer } = await created(`${factory}/automations`, {
      ...agent,
      name: 'solve',
      prompt: [
        '```sh\ngit switch --quiet --create issue-7 && echo fixed > seven.txt && git add . && git commit --quiet -m "Solve it" && git push --quiet origin issue-7\n```',
        '```tool name=create_pull_request\n{"title":"Solve it"}\n```',
      ].join('\n'),
      triggers: [{ provider: 'gitlab', event: 'issue_labeled', filter: { labels: ['agent'] } }],
    });
    await created(`${factory}/automations`, {
      ...agent,
      name: 'change',
      prompt:
        '```sh\necho changed > seven.txt && git commit --quiet -am "Change it" && git push --quiet origin issue-7\n```',
      triggers: [{ provider: 'gitlab', event: 'pull_request_commented', filter: { senders: ['ada'] } }],
      concurrency: { policy: 'continue' },
    });
    const deliver = async (kind: string, payload: object): Promise<void> => {
      const headers = { 'x-gitlab-event': kind, 'x-gitlab-token': secret, 'x-gitlab-event-uuid': randomUUID() };
      const body = JSON.stringify({
        project: { path_with_namespace: 'acme/app', web_url: `${gitlab.url}/acme/app` },
        user: { username: 'ada' },
        ...payload,
      });
      const response = await fetch(ingress as string, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
      expect(response.status).toBe(202);
    };

    await deliver('Issue Hook', {
      object_kind: 'issue',
      object_attributes: { iid: 7, action: 'update' },
      changes: { labels: { previous: [], current: [{ title: 'agent' }] } },
    });
    const listed = async () => (await installation.call('GET', `/agent/runs?automation_id=${fixer}`)).body.runs;
    await until(async () => (await listed()).length === 1, 30_000);
    const [{ run_id: runId }] = await listed();
    const first = await installation.waitFor(runId, ['SUCCEEDED', 'FAILED', 'ERROR'], 60_000);
    expect(first, JSON.stringify(first.status_message)).toMatchObject({ state: 'SUCCEEDED' });
    const { url } = pullRequestOf(first).data;
    const shown = (of: string) => gitlab.notes.filter((one) => one.of === of).map(({ body }) => body);
    await until(() => shown('issues/7')[0]?.includes('**has succeeded**') === true, 30_000);
    expect(shown('issues/7')).toEqual([expect.stringContaining(`- ${url} (open)`)]);
    const start = headOf('issue-7');
    await until(() => gitlab.statuses[0]?.state === 'success', 30_000);
    expect(gitlab.statuses).toMatchObject([{ sha: start, name: 'headrace: solve' }]);

    await deliver('Note Hook', {
      object_kind: 'note',
      object_attributes: { id: 55, note: 'Please change it.', noteable_type: 'MergeRequest', action: 'create' },
      merge_request: { iid: 1, url },
    });
    await until(() => commitsOf('issue-7')[0] === 'Change it', 60_000);
    await until(() => shown('merge_requests/1')[0]?.includes('**has succeeded**') === true, 30_000);
    await until(
      () => gitlab.statuses.length === 2 && gitlab.statuses.every(({ state }) => state === 'success'),
      30_000,
    );
    expect(gitlab.statuses.map(({ sha }) => sha)).toEqual([start, headOf('issue-7')]);
    expect([shown('issues/7').length, shown('merge_requests/1').length]).toEqual([1, 1]);
    expect(gitlab.emoji).toEqual(['issues/7', 'merge_requests/1/notes/55']);
    expect(await listed()).toHaveLength(1);
  });

  it('uses tokens of a GitHub App, whose private key never leaves the service', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    // GitHub creates keys in this format.
    const key = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    github.app = {
      id: 4711,
      publicKey,
      permissions: { contents: 'write', metadata: 'read', pull_requests: 'write', issues: 'write' },
      isInstalled: false,
      // The runner needs another token for each use.
      tokenMs: 240_000,
    };
    const before = github.requests.length;
    const environmentOf = async (name: string, value: string): Promise<string> => {
      expect((await installation.call('PUT', `/secrets/${name}`, { value })).status).toBeLessThan(300);
      const config = { name, github_repos: [{ owner: 'acme', repo: 'app', secret_name: name, github_app_id: 4711 }] };
      const { status, body } = await installation.call('POST', '/environments', { config });
      expect(status).toBeLessThan(300);
      return body.uid as string;
    };
    const run = async (environmentId: string, prompt: string) => {
      const runId = await installation.createRun(prompt, { config: { environment_id: environmentId } });
      return installation.waitFor(runId, ['SUCCEEDED', 'FAILED', 'ERROR'], 60_000);
    };
    const messageOf = async (environmentId: string): Promise<string> => {
      const { state, status_message: message } = await run(environmentId, 'Begin.');
      expect(state).toBe('FAILED');
      return JSON.stringify(message);
    };
    const environmentId = await environmentOf('app-key', key);
    expect(await messageOf(environmentId)).toContain('The GitHub App 4711 is not installed on acme/app');
    github.app.isInstalled = true;
    const wrong = await environmentOf('other-key', other.export({ type: 'pkcs8', format: 'pem' }).toString());
    expect(await messageOf(wrong)).toContain('GitHub does not accept the private key for the GitHub App 4711 (401)');
    const none = await environmentOf('no-key', 'not-a-private-key');
    expect(await messageOf(none)).toContain('is not a private key of an App');
    github.next = {
      status: 403,
      body: { message: 'You have exceeded a secondary rate limit.' },
      headers: { 'retry-after': '1' },
    };
    const limited = await messageOf(environmentId);
    expect(limited).toMatch(/GitHub limits the requests of the App until \d{4}-.*Z/);
    const limitedUntil = Date.parse(/until (\S+Z)/.exec(limited)?.[1] ?? '');
    await until(() => Date.now() > limitedUntil);

    const lookups = () => github.requests.slice(before).filter((one) => one.endsWith('/installation')).length;
    const failed = lookups();
    const place = `protocol=http\\nhost=${new URL(git.url).host}\\npath=acme/app.git\\n`;
    const succeeded = await run(
      environmentId,
      [
        '```sh\ngit switch --quiet --create by-app && echo app > app.txt && git add . && git commit --quiet -m "Add it" && git push --quiet origin by-app\n```',
        `\`\`\`tool name=create_pull_request\n${JSON.stringify({ title: 'Add it' })}\n\`\`\``,
        '```sh\necho files: $(grep -rlE "gh[s]_|PRIVATE [K]EY" "$PWD/../.." "$HOME" 2> /dev/null); echo variables: $(cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2> /dev/null | grep -caE "gh[s]_|PRIVATE [K]EY"); git config --list | grep -c "gh[s]_"; true\n```',
        // Last: what the agent prints is in its own session file.
        `\`\`\`sh\nprintf '${place}' | git credential fill | grep ^password=\n\`\`\``,
      ].join('\n'),
    );
    expect(succeeded).toMatchObject({ state: 'SUCCEEDED' });
    expect(github.pullRequests.at(-1)).toMatchObject({ title: 'Add it', head: 'by-app' });
    expect(github.violations).toEqual([]);
    expect(lookups() - failed).toBe(1);
    // For the assignment, the clone, the push, the tool and the credential that the agent prints.
    expect(github.appTokens.length).toBeGreaterThanOrEqual(5);

    const answers = await Promise.all(
      ['', '/timeline', '/conversation'].map((path) =>
        installation.call('GET', `/agent/runs/${succeeded.run_id}${path}`),
      ),
    );
    const shown = JSON.stringify(answers.map(({ body }) => body));
    expect(shown).toContain('password=***');
    expect(shown).toMatch(/files:\\+n/);
    expect(shown).toMatch(/variables: 0\\+n0\\+n/);
    const keyLines = key.split('\n').filter((line) => line !== '' && !line.startsWith('-----'));
    for (const secret of [...github.appTokens, ...keyLines])
      for (const text of [shown, server.text]) expect(text).not.toContain(secret);

    // A token with enough time is used for all runs.
    github.app.tokenMs = 3_600_000;
    const minted = github.appTokens.length;
    for (const name of ['first', 'second'])
      expect(await run(environmentId, `\`\`\`sh\ngit push --quiet origin HEAD:${name}\n\`\`\``)).toMatchObject({
        state: 'SUCCEEDED',
      });
    expect(github.appTokens.length - minted).toBe(1);
    expect(lookups() - failed).toBe(1);
  });

  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  async function created(path: string, body: object): Promise<any> {
    const answer = await installation.call('POST', path, body);
    expect(answer).toMatchObject({ status: 201 });
    return answer.body;
  }

  const commitsOf = (branch: string): string[] => {
    const served = ['-c', 'safe.directory=*', '-C', join(root, 'served', 'acme', 'app.git')];
    return execFileSync('git', [...served, 'log', '--format=%s', branch], { encoding: 'utf8' })
      .trim()
      .split('\n');
  };

  const headOf = (branch: string): string => {
    const served = ['-c', 'safe.directory=*', '-C', join(root, 'served', 'acme', 'app.git')];
    return execFileSync('git', [...served, 'rev-parse', branch], { encoding: 'utf8' }).trim();
  };

  const pullRequestOf = (run: { artifacts: { artifact_type: string; data: { url: string; status: string } }[] }) => {
    const found = run.artifacts.find(({ artifact_type: type }) => type === 'PULL_REQUEST');
    if (!found) throw new Error(`The run has no pull request: ${JSON.stringify(run.artifacts)}`);
    return found;
  };
});
