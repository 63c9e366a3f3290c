import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GitFixture, GitServer } from '#testing';
import { GithubApiDouble } from '../support/github-api.js';
import { GitlabApiDouble } from '../support/gitlab-api.js';
import { AGENT_USERS, fence, prompt, RunnerProcess, type StartOptions } from './runner-process.js';
import { isLong } from '../support/long-tests.js';

/** The short tests have the first case of each kind of error. */
const short = <Case>(cases: readonly Case[]): readonly Case[] => (isLong ? cases : cases.slice(0, 1));

const TOKEN = `token-${randomBytes(15).toString('base64url')}`;
const AUTHOR = { name: 'Headrace', email: 'noreply@headrace.example' };
const PROJECT = 'group/part/app';
const runners: RunnerProcess[] = [];
let root: string;
let server: GitServer;
let github: GithubApiDouble;
let gitlab: GitlabApiDouble;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'headrace-pull-requests-'));
  await chmod(root, 0o711);
  server = await GitServer.start({
    root: join(root, 'served'),
    login: { username: 'x-access-token', password: TOKEN },
  });
});
afterAll(async () => {
  await server.stop();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(async () => {
  for (const name of ['acme/app', 'acme/other', PROJECT]) {
    rmSync(join(root, name), { recursive: true, force: true });
    rmSync(join(root, 'served', `${name}.git`), { recursive: true, force: true });
    const fixture = new GitFixture(join(root, name));
    fixture.commit({ 'readme.txt': 'app\n' }, 'Add a text');
    fixture.publish(join(root, 'served', `${name}.git`));
  }
  github = await GithubApiDouble.start(TOKEN, 'acme/app');
  gitlab = await GitlabApiDouble.start(TOKEN, PROJECT);
});
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.dispose()));
  await Promise.all([github.stop(), gitlab.stop()]);
});

const repository = (name: string) => ({
  url: `${server.url}/${name}.git`,
  directory: name.split('/').at(-1) ?? '',
  credential: { password: TOKEN },
});
const onGithub = () => ({ type: 'github' as const, url: server.url, api_url: github.url });
const onGitlab = () => ({ type: 'gitlab' as const, url: server.url, api_url: `${gitlab.url}/api/v4` });

async function start({ assignment, ...rest }: StartOptions): Promise<RunnerProcess> {
  const mirrors_dir = join(root, 'mirrors');
  const runner = await RunnerProcess.start({
    assignment: {
      git: { author: AUTHOR, forges: [onGithub()] },
      repositories: [repository('acme/app')],
      ...assignment,
    },
    handover: { git: { mirrors_dir, clone_timeout_seconds: 60, max_repository_bytes: 50_000_000 } },
    ...rest,
  });
  runners.push(runner);
  return runner;
}

const push = (branch: string) =>
  fence(
    'sh',
    `git switch --quiet --create ${branch} && echo ${branch} > fix.txt && git add . && git commit --quiet -m "Fix it" && git push --quiet origin ${branch}`,
  );
const create = (input: object): string => fence('tool name=create_pull_request', JSON.stringify(input));
const answers = ({ plane }: RunnerProcess) =>
  plane
    .calls()
    .filter(({ tool_name: name }) => name === 'mcp__headrace__create_pull_request')
    .map(({ status, output }) => [status, (output as { text: string }).text]);
const pullRequests = ({ plane }: RunnerProcess) =>
  plane.artifacts
    .map(({ reported }) => reported as { artifact_type: string; url: string; branch: string; status: string })
    .filter(({ artifact_type: type }) => type === 'PULL_REQUEST');

describe('the tool create_pull_request', () => {
  it.each(AGENT_USERS)(
    'creates one pull request for a pushed branch on GitHub, which becomes an artifact, as %s',
    async (_name, ownUser) => {
      const runner = await start({
        ownUser,
        assignment: {
          prompt: prompt(
            push('fix'),
            create({ title: 'Fix the text', body: 'Why: it was **wrong**.', draft: true }),
            create({ title: 'Fix the text again', branch: 'fix', base: 'main', repository: 'app' }),
          ),
        },
      });
      await runner.plane.untilEvent('turn_ended');
      const url = `${github.url}/acme/app/pull/1`;
      expect(answers(runner)).toEqual([
        ['completed', `The pull request was created: ${url}`],
        ['completed', `The branch already has an open pull request: ${url}`],
      ]);
      expect(github.pullRequests).toEqual([
        {
          number: 1,
          title: 'Fix the text',
          body: 'Why: it was **wrong**.\n\n<!-- headrace -->',
          head: 'fix',
          base: 'main',
          draft: true,
        },
      ]);
      expect(github.violations).toEqual([]);
      expect(pullRequests(runner)[0]).toMatchObject({ url, branch: 'fix', status: 'draft', created_by_run: true });
      const reports = runner.plane.requests.map(({ body }) => body.toString('latin1'));
      expect([runner.logged, ...reports].join('\n')).not.toContain(TOKEN);
      expect(await runner.close()).toBe(0);
    },
  );

  it('creates a merge request in a group of GitLab', async () => {
    const runner = await start({
      assignment: {
        git: { author: AUTHOR, forges: [onGitlab()] },
        repositories: [repository(PROJECT)],
        prompt: prompt(push('fix'), create({ title: 'Fix it', draft: true }), create({ title: 'Fix it' })),
      },
    });
    await runner.plane.untilEvent('turn_ended');
    const url = `${gitlab.url}/${PROJECT}/-/merge_requests/1`;
    expect(answers(runner)).toEqual([
      ['completed', `The pull request was created: ${url}`],
      ['completed', `The branch already has an open pull request: ${url}`],
    ]);
    expect(gitlab.mergeRequests).toEqual([
      { iid: 1, title: 'Draft: Fix it', description: '<!-- headrace -->', source_branch: 'fix', target_branch: 'main' },
    ]);
    expect(pullRequests(runner)[0]).toMatchObject({ url, branch: 'fix', status: 'draft' });
  });

  it('returns the pull request that another process has created meanwhile', async () => {
    github.beforeCreate = () => {
      if (github.pullRequests.length === 0)
        github.addPullRequest({ title: 'Mine', body: '', head: 'fix', base: 'main', draft: false });
    };
    const runner = await start({ assignment: { prompt: prompt(push('fix'), create({ title: 'Fix it' })) } });
    await runner.plane.untilEvent('turn_ended');
    expect(answers(runner)).toEqual([
      ['completed', `The branch already has an open pull request: ${github.url}/acme/app/pull/1`],
    ]);
    expect(github.pullRequests).toHaveLength(1);
    // It can be of another run.
    expect(pullRequests(runner)[0]).not.toHaveProperty('created_by_run');
    expect(github.violations).toEqual([]);
  });

  it('says what is missing when it can create none', async () => {
    const runner = await start({
      assignment: {
        repositories: [repository('acme/app'), repository('acme/other')],
        prompt: prompt(
          create({ title: 'Fix it' }),
          create({ title: 'Fix it', repository: 'nothing' }),
          create({ title: 'Fix it', repository: 'app', branch: 'unpushed' }),
          create({ title: 'Fix it', repository: 'app', branch: 'main' }),
          create({ title: 'Fix it', repository: repository('acme/other').url, branch: 'main' }),
          create({ title: ' ' }),
        ),
      },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(answers(runner)).toEqual([
      ['failed', 'The run has several repositories; set `repository` to one of: app, other.'],
      ['failed', '`repository` must be one of: app, other.'],
      [
        'failed',
        'The server does not have the branch unpushed. Push it first: git push --set-upstream origin unpushed',
      ],
      ['failed', 'GitHub rejected the pull request (422): Validation Failed; No commits between main and main'],
      ['failed', 'GitHub rejected the request (404): Not Found'],
      ['failed', expect.stringContaining('title')],
    ]);
    expect(github.violations).toEqual([]);
    expect(pullRequests(runner)).toEqual([]);
  });

  it.each(
    short([
      [
        'limits the requests',
        { status: 403, body: {}, headers: { 'retry-after': '60' } },
        'GitHub limits the requests. Try again in 60 seconds.',
      ],
      [
        'does not accept the credential',
        { status: 401, body: {} },
        'GitHub does not accept the credential of the repository (401).',
      ],
      ['sends nonsense', { status: 200, body: ['nonsense'] }, 'GitHub sent a response without the expected fields.'],
      ['fails', { status: 502, body: null }, 'GitHub rejected the request (502): no reason given'],
    ]),
  )('says that the server %s', async (_name, response, text) => {
    github.next = response;
    const runner = await start({ assignment: { prompt: prompt(create({ title: 'Fix it', branch: 'main' })) } });
    await runner.plane.untilEvent('turn_ended');
    expect(answers(runner)).toEqual([['failed', text]]);
  });

  it.each(
    short<readonly [string, () => StartOptions['assignment']]>([
      ['run has no repository', () => ({ repositories: [] })],
      [
        'server is not known',
        () => ({ git: { author: AUTHOR, forges: [{ ...onGithub(), url: 'http://127.0.0.1:1' }] } }),
      ],
      ['repository is not below the owner', () => ({ repositories: [repository(PROJECT)] })],
    ]),
  )('is not offered when the %s', async (_name, assignment) => {
    const runner = await start({ assignment: { ...assignment(), prompt: prompt(create({ title: 'Fix it' })) } });
    await runner.plane.untilEvent('turn_ended');
    expect(answers(runner)).toEqual([['failed', expect.stringContaining('create_pull_request')]]);
    expect(github.requests).toEqual([]);
  });
});
