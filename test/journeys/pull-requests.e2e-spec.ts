import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GitServer } from '../../libs/testing/src/git/git-server.js';
import { until } from '#testing';
import { ForgeFixture } from '../support/forge-fixture.js';
import type { GithubApiDouble } from '../support/github-api.js';
import { githubDelivery, signedHeaders } from '../support/github-deliveries.js';
import { Installation, type Program } from '../support/installation.js';
import { GithubIssueJourney, GitlabIssueJourney } from '../support/issue-journey.js';
import { isLong } from '../support/long-tests.js';

const NO_GH = spawnSync('gh', ['--version']).error !== undefined;
const TOKEN = `token-${randomBytes(15).toString('base64url')}`;
let forges: ForgeFixture;
let git: GitServer;
let github: GithubApiDouble;
let installation: Installation;
let server: Program;

beforeAll(async () => {
  forges = await ForgeFixture.start(TOKEN);
  ({ git, github } = forges);
  installation = await Installation.create(forges.settings);
  server = await installation.up();
});

afterAll(async () => {
  await server.stopCleanly('SIGINT');
  await forges.stop();
  installation.remove();
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
    const url = `${git.url}/acme/app/pull/1`;
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
    expect(forges.inRepository('log', '-1', '--format=%an %s', 'fix')).toBe('Headrace Fix the text');
    const found = await installation.call('GET', `/agent/run-by-external-reference?url=${encodeURIComponent(url)}`);
    expect([found.status, found.body.run_id]).toEqual([200, runId]);
    const answers = await Promise.all(
      ['', '/timeline', '/conversation'].map((path) => installation.call('GET', `/agent/runs/${runId}${path}`)),
    );
    expect(JSON.stringify(answers.map(({ body }) => body))).not.toContain(TOKEN);
  });

  it('works in the repository that the run names, with the credential of the pattern, and in no other one', async () => {
    forges.addRepository('other', ['draft']);
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
    expect(forges.commitsOf('draft', 'other')).toEqual(['More', 'Add a text']);
  });

  it('starts for a labelled issue, continues after a review, and knows that the pull request was merged', async () => {
    const prompts = {
      branch: 'issue-1',
      fix: [
        '```sh\ngit switch --quiet --create issue-1 && echo fixed > issue.txt && git add . && git commit --quiet -m "Fix the issue" && git push --quiet origin issue-1\n```',
        '```tool name=create_pull_request\n{"title":"Fix the issue"}\n```',
      ].join('\n'),
      revise:
        '```sh\necho revised > issue.txt && git commit --quiet -am "Revise the fix" && git push --quiet origin issue-1\n```',
    };
    const journey = new GithubIssueJourney({ installation, forges, prompts });
    await journey.prepare();
    await journey.labelIssue();
    expect(await journey.expectRun()).toMatchObject({ source: 'GITHUB_WEBHOOK' });
    expect(journey.url).toMatch(/\/acme\/app\/pull\/\d+$/);
    await journey.expectAnswers();
    await journey.requestChanges();
    await journey.expectRevision();
    expect(forges.commitsOf('issue-1')).toEqual(['Revise the fix', 'Fix the issue', 'Add a text']);
    await journey.merge();
    expect(github.violations).toEqual([]);
  });

  it.runIf(isLong)('does the same on GitLab with an access token', async () => {
    const prompts = {
      branch: 'issue-7',
      fix: [
        '```sh\ngit switch --quiet --create issue-7 && echo fixed > seven.txt && git add . && git commit --quiet -m "Solve it" && git push --quiet origin issue-7\n```',
        '```tool name=create_pull_request\n{"title":"Solve it"}\n```',
      ].join('\n'),
      revise:
        '```sh\necho changed > seven.txt && git commit --quiet -am "Change it" && git push --quiet origin issue-7\n```',
    };
    const journey = new GitlabIssueJourney({ installation, forges, prompts }, TOKEN);
    await journey.prepare();
    await journey.labelIssue();
    await journey.expectRun();
    await journey.expectAnswers();
    await journey.requestChanges();
    await journey.expectRevision();
    expect(forges.commitsOf('issue-7')).toEqual(['Change it', 'Solve it', 'Add a text']);
    await journey.merge();
    expect(forges.gitlab.violations).toEqual([]);
  });

  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  async function created(path: string, body: object): Promise<any> {
    const answer = await installation.call('POST', path, body);
    expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 201 });
    return answer.body;
  }

  it('adds a comment to the issue when its agent asks for it', async () => {
    github.app = null;
    github.token = TOKEN;
    const config = { name: 'comments', github_repos: [{ owner: 'acme', repo: 'app', secret_name: 'github-token' }] };
    const { uid: environment } = await created('/environments', { config, team: true });
    const factory = `/factories/${installation.connection.factory_uid}`;
    const secret = randomBytes(20).toString('hex');
    const signature = { auth_mode: 'signature', signature_scheme: 'github', secret };
    const { ingress_url: ingress } = await created(`${factory}/webhooks`, { name: 'comments', ...signature });
    const { uid } = await created(`${factory}/automations`, {
      enabled: true,
      agent_config: { environment_id: environment },
      name: 'comment',
      prompt: '```tool name=comment_on_source\n{"text":"I have read it, @ada."}\n```',
      triggers: [{ provider: 'github', event: 'issue_labeled', filter: { labels: ['comment'] } }],
    });
    const repository = { full_name: 'acme/app', name: 'app', html_url: `${git.url}/acme/app` };
    const delivery = githubDelivery('issues', 'labeled', {
      repository,
      label: { name: 'comment' },
      issue: { number: 3 },
    });
    const headers = signedHeaders(delivery, randomUUID(), secret);
    expect((await fetch(ingress as string, { method: 'POST', headers, body: delivery.body })).status).toBe(202);
    const listed = async () => (await installation.call('GET', `/agent/runs?automation_id=${uid}`)).body.runs;
    await until(async () => (await listed()).length === 1, 30_000);
    const [{ run_id: runId }] = await listed();
    expect(await installation.waitFor(runId, ['SUCCEEDED', 'FAILED', 'ERROR'], 60_000)).toMatchObject({
      state: 'SUCCEEDED',
    });
    const { body: shown } = await installation.call('GET', `/agent/runs/${runId}/conversation`);
    expect(JSON.stringify(shown)).toContain('The comment was added to the issue acme/app#3.');
    const bodies = () => github.answers.comments.filter(({ number }) => number === 3).map(({ body }) => body);
    await until(() => bodies().some((body) => body.includes('**has succeeded**')), 30_000);
    expect(bodies()).toHaveLength(2);
    expect(bodies().filter((body) => body.includes('> I have read it, @\u200Bada.\n\n[Run '))).toHaveLength(1);
    expect(github.violations).toEqual([]);
  });

  it.runIf(isLong)('uses tokens of a GitHub App, whose private key never leaves the service', async () => {
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
    // After a permanent failure the service asks again after a pause.
    const limited = await until(async () => {
      const text = await messageOf(environmentId);
      return !text.includes('(404)') && text;
    });
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

  it.skipIf(NO_GH)('uses gh with tokens of a GitHub App', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const permissions = { contents: 'write', metadata: 'read', pull_requests: 'write', issues: 'write' };
    github.app = { id: 4712, publicKey, permissions, isInstalled: true, tokenMs: 240_000 };
    const value = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
    expect((await installation.call('PUT', '/secrets/gh-key', { value })).status).toBeLessThan(300);
    const config = {
      name: 'gh',
      github_repos: [{ owner: 'acme', repo: 'app', secret_name: 'gh-key', github_app_id: 4712 }],
    };
    const { body: environment } = await installation.call('POST', '/environments', { config });
    const prompt = [
      '```sh\ngit switch --quiet --create by-gh && echo gh > gh.txt && git add . && git commit --quiet -m "Add gh" && git push --quiet origin by-gh\n```',
      '```sh\ngh pr create --title "Add gh" --body "By gh." 2>&1\n```',
      '```sh\ngh pr view --json title --jq .title; gh issue view 3 --json title --jq .title; gh api repos/acme/other 2>&1\n```',
    ].join('\n');
    const runId = await installation.createRun(prompt, { config: { environment_id: environment.uid as string } });
    const run = await installation.waitFor(runId, ['SUCCEEDED', 'FAILED', 'ERROR'], 60_000);
    expect(run).toMatchObject({ state: 'SUCCEEDED' });
    const { number } = github.pullRequests.find(({ head }) => head === 'by-gh') ?? { number: 0 };
    const url = `${git.url}/acme/app/pull/${number}`;
    expect(run.artifacts).toContainEqual(
      expect.objectContaining({ artifact_type: 'PULL_REQUEST', data: { url, branch: 'by-gh', status: 'open' } }),
    );
    const { body: shown } = await installation.call('GET', `/agent/runs/${runId}/conversation`);
    expect(JSON.stringify(shown)).toContain('Add gh\\nThe text is wrong\\n');
    expect(JSON.stringify(shown)).toContain('acme/other is not a repository of this run.');
    const { body: timeline } = await installation.call('GET', `/agent/runs/${runId}/timeline`);
    expect(JSON.stringify(timeline)).toContain('POST /graphql mutation PullRequestCreate');
    for (const token of github.appTokens)
      for (const text of [JSON.stringify([shown, timeline]), server.text]) expect(text).not.toContain(token);
    expect(github.violations).toEqual([]);
  });
});
