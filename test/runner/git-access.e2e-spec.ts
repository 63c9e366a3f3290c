import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { chmod, mkdtemp } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { GitCredentialRequested, RepositoryRef, TurnEnded } from '#execution/runner-protocol';
import { GitFixture, GitServer } from '#testing';
import { filesBelow, placesWith, processesBelow } from '../support/secret-search.js';
import { AGENT_USERS, fence, isRoot, prompt, RunnerProcess, type StartOptions } from './runner-process.js';

const PASSWORD = `t0ken/${randomBytes(15).toString('base64')}`;
const GIT = {
  author: { name: 'Release agent', email: 'noreply@headrace.example' },
  co_author: { name: 'Ada <"Admin">', email: 'ada@example.com' },
};
const runners: RunnerProcess[] = [];
let root: string;
let server: GitServer;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'headrace-git-access-'));
  await chmod(root, 0o711);
  server = await GitServer.start({ root: join(root, 'served'), login: { username: 'bot', password: PASSWORD } });
});
afterAll(async () => {
  await server.stop();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(() => {
  for (const name of ['app', 'other']) {
    rmSync(join(root, name), { recursive: true, force: true });
    rmSync(served(name), { recursive: true, force: true });
    const fixture = new GitFixture(join(root, name));
    fixture.commit({ 'readme.txt': `${name}\n` }, 'Add a text');
    fixture.publish(served(name));
  }
});
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.dispose()));
});

const served = (name: string): string => join(root, 'served', 'acme', `${name}.git`);
const urlOf = (name: string): string => `${server.url}/acme/${name}.git`;
const repository = () => ({
  url: urlOf('app'),
  directory: 'app',
  credential: { username: 'bot', password: PASSWORD },
});
/** What the repository on the server has: its own users and settings do not matter. */
const onServer = (...args: string[]): string =>
  execFileSync('git', ['-c', 'safe.directory=*', '-C', served('app'), ...args], { encoding: 'utf8' }).trim();

/** Not the temporary mirrors of a runner without such a directory, which another test looks for. */
const mirrors = () => ({
  mirrors_dir: join(root, 'mirrors'),
  clone_timeout_seconds: 60,
  max_repository_bytes: 50_000_000,
});

async function start({ assignment, handover, ...rest }: StartOptions = {}): Promise<RunnerProcess> {
  const runner = await RunnerProcess.start({
    assignment: { git: GIT, repositories: [repository()], ...assignment },
    handover: { git: mirrors(), ...handover },
    ...rest,
  });
  runners.push(runner);
  return runner;
}

const outputs = ({ plane }: RunnerProcess): string[] =>
  plane.calls().map(({ output }) => (output as { output: string }).output);
const requested = ({ plane }: RunnerProcess): GitCredentialRequested[] =>
  plane.data<GitCredentialRequested>('git_credential_requested');
const sent = ({ plane, logged }: RunnerProcess): string =>
  [logged, ...plane.requests.map(({ body }) => body.toString('latin1'))].join('\n');

/** A command that prints whether git gets a password for the URL. */
const fill = (url: string): string => {
  const [, protocol, host, path] = /^(\w+):\/\/([^/]*)\/(.*)$/.exec(url) ?? [];
  return `printf '%s\\n' protocol=${protocol} host=${host} path=${path} | git credential fill 2> /dev/null | grep -c ^password=`;
};

describe('git in the workspace', () => {
  it.each(AGENT_USERS)(
    'commits and pushes with nothing of the credential in files, settings or variables, as %s',
    async (_name, ownUser) => {
      const runner = await start({
        ownUser,
        assignment: {
          prompt: prompt(
            fence(
              'sh',
              'git switch --quiet --create fix; echo done > fix.txt; git add .; git commit --quiet -m "Fix it"',
            ),
            fence('sh', 'git push --quiet origin fix 2>&1; echo pushed'),
            fence('sh', 'git fetch --quiet origin && git status --short --branch'),
            fence('sh', 'env; git config --list --show-origin'),
          ),
        },
      });
      await runner.plane.untilEvent('turn_ended');
      const [, pushed, fetched, found] = outputs(runner);
      expect([pushed, fetched]).toEqual(['pushed\n', '## fix\n']);
      expect(found).toContain('user.name=Release agent');
      // `***` would be the redaction of the runner.
      expect(found).not.toContain('***');
      expect(onServer('log', '-1', '--format=%an <%ae>, %cn <%ce>%n%B', 'fix')).toBe(
        [
          'Release agent <noreply@headrace.example>, Release agent <noreply@headrace.example>',
          'Fix it',
          '',
          'Co-authored-by: Ada "Admin" <ada@example.com>',
        ].join('\n'),
      );
      expect(requested(runner)).toEqual([
        { url: urlOf('app'), granted: true },
        { url: urlOf('app'), granted: true },
      ]);
      const places = [...filesBelow(runner.handover.workspace_dir), ...processesBelow(runner.child.pid ?? 0)];
      expect(places.length).toBeGreaterThan(20);
      const reported = { name: 'what the runner has sent and logged', content: Buffer.from(sent(runner), 'latin1') };
      expect(placesWith([PASSWORD], [...places, reported])).toEqual([]);
      expect(await runner.close()).toBe(0);
    },
  );

  it('gets the credential for the repositories of the run only, and records each request', async () => {
    const asked = [
      urlOf('app'),
      urlOf('app').replace(/\.git$/, ''),
      `${urlOf('app')}/info/lfs`,
      urlOf('other'),
      `${urlOf('app')}/../other.git`,
      `${server.url}/`,
      urlOf('app').replace('http:', 'https:'),
      'http://127.0.0.1:1/acme/app.git',
    ];
    const runner = await start({
      assignment: {
        prompt: prompt(fence('sh', asked.map(fill).join('; ')), fence('sh', `git ls-remote ${urlOf('other')}`)),
      },
    });
    await runner.plane.untilEvent('turn_ended');
    const [answers, refused] = outputs(runner);
    expect(answers).toBe('1\n1\n1\n0\n0\n0\n0\n0\n');
    expect(refused).toContain('could not read Username');
    // git asks this server about its own addresses only.
    expect(requested(runner)).toEqual([
      ...asked.slice(0, 3).map(() => ({ url: urlOf('app'), granted: true })),
      { url: urlOf('other').replace(/\.git$/, ''), granted: false },
      { url: `${urlOf('app')}/../other`, granted: false },
      { url: `${server.url}/`, granted: false },
      { url: urlOf('other').replace(/\.git$/, ''), granted: false },
    ]);
  });

  it('gets no credential from another execution, and none when its own has ended', async () => {
    const first = await start({ ownUser: isRoot, assignment: { prompt: fence('sh', fill(urlOf('app'))) } });
    await first.plane.untilEvent('turn_ended');
    expect(outputs(first)).toEqual(['1\n']);
    const socket = join(first.handover.workspace_dir, 'git', 'credentials.sock');
    expect(statSync(first.handover.workspace_dir).mode & 0o777).toBe(0o700);
    const ask = `printf 'protocol=http\\nhost=${new URL(server.url).host}\\npath=acme/app.git\\n' | git credential-cache --socket='${socket}' get 2>&1 | grep -c ^password=`;
    const second = await start({
      ownUser: isRoot,
      assignment: { repositories: [], prompt: fence('sh', `${ask}; ${fill(urlOf('app'))}`) },
    });
    await second.plane.untilEvent('turn_ended');
    // Without root both executions have the same user, who could read the memory of each of them.
    expect(outputs(second)).toEqual([isRoot ? '0\n0\n' : '1\n0\n']);
    // A connection that was made before the end gets nothing after it.
    const early = createConnection(socket);
    await new Promise((resolve) => early.once('connect', resolve));
    const received: Buffer[] = [];
    early.on('data', (chunk) => received.push(chunk));
    const ended = new Promise((resolve) => early.once('close', resolve));
    expect(await first.close()).toBe(0);
    early.end('action=get\nprotocol=http\n');
    await ended;
    expect(received).toEqual([]);
    expect(existsSync(socket)).toBe(false);
  });

  it('adds the person who asked once to commits of the agent, and to none of others', async () => {
    const runner = await start({
      assignment: {
        environment: {
          uid: 'e'.repeat(22),
          setup_commands: ['git config --global user.name "Own name"'],
          env: {},
        },
        prompt: prompt(
          fence('sh', 'echo 1 > one; git add .; git commit --quiet -m One; git commit --quiet --amend -m One'),
          fence(
            'sh',
            'git switch --quiet --create theirs origin/main; echo 2 > two; git add .; git commit --quiet --no-verify -m Two --author "Bob <bob@example.com>"; git commit --quiet --amend --allow-empty -m Two --trailer "Reviewed-by: Eve"; git -c core.hooksPath=/dev/null commit --quiet --amend -m Two; git switch --quiet main; git cherry-pick theirs > /dev/null; git revert --no-edit HEAD > /dev/null',
          ),
          fence('sh', 'git log -3 --format="%an|%s|%(trailers:key=Co-authored-by,valueonly,separator=%x2C)"'),
          // A repository that the agent makes, as tests of a project do.
          fence(
            'sh',
            'git init --quiet ../new; cd ../new; git commit --quiet --allow-empty -m New; git log --format=%B',
          ),
        ),
      },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(outputs(runner).slice(-2)).toEqual([
      'Own name|Revert "Two"|Ada "Admin" <ada@example.com>\nBob|Two|\nOwn name|One|Ada "Admin" <ada@example.com>\n',
      'New\n\n',
    ]);
  });

  it('leaves pushed branches and created pull requests among the artifacts', async () => {
    const gh = `mkdir -p ~/bin; printf '#!/bin/sh\\necho ${server.url}/acme/app/pull/7\\n' > ~/bin/gh; chmod +x ~/bin/gh`;
    const push = (branch: string) =>
      `git switch --quiet --create ${branch}; echo ${branch} > file; git add .; git commit --quiet -m ${branch}; git push --quiet origin ${branch} 2>&1`;
    const runner = await start({
      ownUser: isRoot,
      assignment: {
        prompt: prompt(
          fence(
            'sh',
            `${push('gone')}; git push --quiet origin :gone; ${push('unpushed')} --dry-run; git fetch --quiet; git update-ref -m 'update by push' refs/remotes/origin/forged HEAD`,
          ),
          fence('sh', `${push('fix/one')}; ${gh}; PATH=~/bin:$PATH; gh pr create --draft`),
        ),
      },
    });
    await runner.plane.untilEvent('turn_ended');
    const references = () =>
      runner.plane.artifacts.flatMap(({ reported, content }) => (content === undefined ? [reported] : []));
    const branch = (name: string, verified = true) => ({
      artifact_type: 'EXTERNAL_REFERENCE',
      reference_type: 'branch',
      url: `${server.url}/acme/app/tree/${name}`,
      title: `Branch ${name} of acme/app`,
      metadata: { repository: urlOf('app'), branch: name, commit: expect.stringMatching(/^[0-9a-f]{40}$/), verified },
    });
    expect(references()).toEqual([
      expect.objectContaining(branch('fix/one')),
      expect.objectContaining({
        artifact_type: 'PULL_REQUEST',
        url: `${server.url}/acme/app/pull/7`,
        branch: 'fix/one',
        status: 'draft',
      }),
    ]);
    const [first] = references();
    expect(onServer('rev-parse', 'fix/one')).toBe((first?.['metadata'] as { commit: string }).commit);
    // The next turn reports what is new only.
    runner.plane.say('f1', fence('sh', `${push('two')}; git commit --quiet --amend -m two; git push --quiet --force`));
    await runner.plane.untilEvent('turn_ended', 2);
    expect(references().slice(2)).toEqual([expect.objectContaining(branch('two'))]);
    expect(onServer('rev-parse', 'two')).toBe((references()[2]?.['metadata'] as { commit: string }).commit);
  });

  it('knows which pull requests have a head that the run has pushed, however they were reported', async () => {
    const page = `${server.url}/acme/app/pull`;
    onServer('update-ref', 'refs/pull/1/head', 'main');
    const pushed = (branch: string, number: number) =>
      `git switch --quiet --create ${branch}; echo ${branch} > file; git add .; git commit --quiet -m ${branch}; git push --quiet origin ${branch} HEAD:refs/pull/${number}/head 2>&1`;
    const report = (url: string, branch: string) =>
      fence('tool name=report_artifact', JSON.stringify({ artifact_type: 'PULL_REQUEST', url, branch }));
    const list = [`${page}/3`, `${page}/98`].map((url) =>
      JSON.stringify({ artifact_type: 'PULL_REQUEST', url, branch: 'b', created_by_run: true }),
    );
    const runner = await start({
      ownUser: isRoot,
      assignment: {
        prompt: prompt(
          // Its head is not a commit of the run, the number does not exist, and the repository is not one of the run.
          fence('sh', pushed('two', 2)),
          ...[`${page}/2`, `${page}/1`, `${page}/99`, `${server.url}/acme/other/pull/2`].map((url) => report(url, 'b')),
          report(`${page}/4`, 'four'),
          fence(
            'sh',
            `printf '%s\\n' '${list.join("' '")}' > $HEADRACE_ARTIFACTS_DIR/artifacts.jsonl; ${pushed('three', 3)}`,
          ),
          // Pushed after the report.
          fence('sh', pushed('four', 4)),
        ),
      },
    });
    await runner.plane.untilEvent('turn_ended');
    const reports = runner.plane.artifacts.map(
      ({ reported }) => reported as { url?: string; created_by_run?: boolean },
    );
    const own = reports.filter(({ created_by_run: isOwn }) => isOwn === true).map(({ url }) => url);
    expect(own).toEqual([`${page}/2`, `${page}/3`, `${page}/4`]);
    const urls = new Set(reports.flatMap(({ url }) => (url?.includes('/pull/') ? [url] : [])));
    expect(urls.size).toBe(7);
  });

  it('reports a pull request without created_by_run to a control plane of an earlier version, and with it after its upgrade', async () => {
    const url = `${server.url}/acme/app/pull/6`;
    const push = `git switch --quiet --create six; git commit --quiet --allow-empty -m six; git push --quiet origin six HEAD:refs/pull/6/head 2>&1`;
    const report = JSON.stringify({ artifact_type: 'PULL_REQUEST', url, branch: 'six' });
    const runner = await start({
      assignment: { prompt: prompt(fence('sh', push), fence('tool name=report_artifact', report)) },
      prepare: ({ rejections }) =>
        rejections.set('POST /artifacts', ({ created_by_run: isUnknown }) =>
          isUnknown === undefined
            ? null
            : { errors: [{ pointer: '/created_by_run', detail: 'is not a known field (did you mean `branch`?)' }] },
        ),
    });
    const { plane } = runner;
    const reports = (): (boolean | undefined)[] =>
      plane.artifacts.flatMap(({ reported }) =>
        reported['url'] === url ? [reported['created_by_run'] as boolean | undefined] : [],
      );
    await plane.untilEvent('turn_ended');
    expect(reports()).toEqual([undefined]);
    plane.say('f1', fence('sh', 'true'));
    await plane.untilEvent('turn_ended', 2);
    expect(reports()).toEqual([undefined]);

    plane.rejections.clear();
    plane.say('f2', fence('sh', 'true'));
    await plane.untilEvent('turn_ended', 3);
    expect(reports()).toEqual([undefined, true]);
    const keys = plane.artifacts.filter(({ reported }) => reported['url'] === url);
    expect(new Set(keys.map(({ reported }) => reported['source_key'])).size).toBe(2);
    expect(plane.data('output_truncated')).toEqual([]);
    expect(outputs(runner).join('\n')).not.toContain('rejected');
  });

  it('does not count what git has recorded as pushed where the run has no credential', async () => {
    const open = await GitServer.start({ root: join(root, 'served') });
    try {
      const url = `${open.url}/acme/app/pull/5`;
      onServer('update-ref', 'refs/pull/5/head', 'main');
      const report = { artifact_type: 'PULL_REQUEST', url, branch: 'forged' };
      const runner = await start({
        assignment: {
          repositories: [{ url: `${open.url}/acme/app.git`, directory: 'app' }],
          prompt: prompt(
            fence('sh', `git update-ref -m 'update by push' refs/remotes/origin/forged HEAD`),
            fence('tool name=report_artifact', JSON.stringify(report)),
          ),
        },
      });
      await runner.plane.untilEvent('turn_ended');
      const reports = runner.plane.artifacts.map(({ reported }) => reported as { url?: string });
      expect(reports.filter((one) => one.url === url)).toEqual([expect.not.objectContaining({ created_by_run: true })]);
    } finally {
      await open.stop();
    }
  });

  it('says at the end of a turn what was not pushed, when it can push', async () => {
    const changes = 'echo 1 > one; git add one; git commit --quiet -m One; echo 2 > two; echo changed > readme.txt';
    const [able, unable] = await Promise.all(
      [repository(), { ...repository(), credential: undefined, url: join(root, 'app') }].map((one) =>
        start({
          assignment: { repositories: [one as RepositoryRef], prompt: fence('sh', changes) },
          handover: { git: { ...mirrors(), local_roots: [root] } },
        }),
      ),
    );
    const ends = async (runner: RunnerProcess | undefined, count = 1) => {
      await runner?.plane.untilEvent('turn_ended', count);
      return runner?.plane.data<TurnEnded>('turn_ended').at(-1);
    };
    expect((await ends(able))?.notice).toBe('Changes were not pushed: app (1 commit, 2 changed files).');
    expect(await ends(unable)).not.toHaveProperty('notice');
    able?.plane.say('f1', fence('sh', 'git add .; git commit --quiet -m Two; git push --quiet origin HEAD:two'));
    expect(await ends(able, 2)).not.toHaveProperty('notice');
  });

  it('has the settings of its user in a directory of that user', async () => {
    const home = join(root, 'home');
    const work = join(root, 'app');
    mkdirSync(home, { recursive: true });
    const runner = await start({
      handover: { in_place: { work_dir: work, home_dir: home } },
      assignment: {
        prompt: fence('sh', 'echo "${GIT_CONFIG_SYSTEM:-none}"; git config user.name; ls .git/hooks | grep -v sample'),
      },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(outputs(runner)).toEqual(['none\n']);
  });
});
