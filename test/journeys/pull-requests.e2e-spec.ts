import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GitFixture } from '../../libs/testing/src/git/git-fixture.js';
import { GitServer } from '../../libs/testing/src/git/git-server.js';
import { GithubApiDouble } from '../support/github-api.js';
import { Installation, type Program } from '../support/installation.js';

const TOKEN = `token-${randomBytes(15).toString('base64url')}`;
let root: string;
let git: GitServer;
let github: GithubApiDouble;
let installation: Installation;
let server: Program;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'headrace-pull-requests-'));
  chmodSync(root, 0o711);
  const fixture = new GitFixture(join(root, 'app'));
  fixture.commit({ 'readme.txt': 'app\n' }, 'Add a text');
  fixture.publish(join(root, 'served', 'acme', 'app.git'));
  git = await GitServer.start({ root: join(root, 'served'), login: { username: 'x-access-token', password: TOKEN } });
  github = await GithubApiDouble.start(TOKEN, 'acme/app');
  installation = await Installation.create({ GITHUB_URL: git.url, GITHUB_API_URL: github.url });
  server = await installation.up();
});

afterAll(async () => {
  expect(await server.stop('SIGINT')).toBe(0);
  await Promise.all([git.stop(), github.stop()]);
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
});
