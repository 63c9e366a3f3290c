import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, statSync } from 'node:fs';
import { chmod, mkdtemp } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { GitCredentialRequested } from '#execution/runner-protocol';
import { GitFixture } from '#testing';
import { filesBelow, linesOf, placesWith, processesBelow } from '../support/secret-search.js';
import { NO_SSHD, SshGitServer } from '../support/ssh-git-server.js';
import { AGENT_USERS, fence, isRoot, prompt, RunnerProcess, type StartOptions } from './runner-process.js';

const GIT = { author: { name: 'Release agent', email: 'noreply@headrace.example' } };
const NAMES = ['app', 'library', 'other'] as const;
const runners: RunnerProcess[] = [];
const keys = new Map<string, string>();
let root: string;
let server: SshGitServer;

describe.skipIf(NO_SSHD !== null)(`git over SSH in the workspace ${NO_SSHD ?? ''}`.trim(), { timeout: 120_000 }, () => {
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'headrace-ssh-access-'));
    await chmod(root, 0o711);
    server = await SshGitServer.start(join(root, 'served'));
    for (const [index, name] of NAMES.entries()) {
      const fixture = new GitFixture(join(root, name));
      fixture.commit({ 'readme.txt': `${name}\n` }, 'Add a text');
      fixture.publish(server.pathOf(name));
      keys.set(name, server.addKey(name, ['ed25519', 'ecdsa', 'rsa'][index] ?? ''));
    }
  });
  afterAll(async () => {
    await server.stop();
    rmSync(root, { recursive: true, force: true });
  });
  afterEach(async () => {
    await Promise.all(runners.splice(0).map((runner) => runner.dispose()));
  });

  it.each(AGENT_USERS)(
    'fetches and pushes two repositories of a server, each with its own key, as %s',
    async (_name, ownUser) => {
      const branch = ownUser ? 'separate' : 'own';
      const change = (name: string) =>
        `cd ${name}; git switch --quiet --create ${branch}; head -c 3000000 /dev/urandom > data; git add .; git commit --quiet -m Change; git push --quiet origin ${branch} 2>&1; git fetch --quiet origin && git status --short --branch`;
      const runner = await start({
        ownUser,
        assignment: {
          repositories: [repository('app'), repository('library')],
          prompt: prompt(
            fence('sh', change('app')),
            fence('sh', change('library')),
            fence(
              'sh',
              `git clone --quiet ${server.urlOf('library').replace(/\.git$/, '')} again && cat again/readme.txt`,
            ),
            fence('sh', 'env; git config --list --show-origin'),
          ),
        },
      });
      await runner.plane.untilEvent('turn_ended');
      const [app, library, again, found] = outputs(runner);
      expect([app, library, again]).toEqual([`## ${branch}\n`, `## ${branch}\n`, 'library\n']);
      for (const name of ['app', 'library']) {
        const pushed = execFileSync('git', ['-C', server.pathOf(name), 'cat-file', '-s', `${branch}:data`]);
        expect(pushed.toString()).toBe('3000000\n');
      }
      // `***` would be the redaction of the runner.
      expect(found).not.toContain('***');
      expect(requested(runner)).toEqual(
        ['app', 'app', 'library', 'library', 'library'].map((name) => ({ url: server.urlOf(name), granted: true })),
      );
      const places = [...filesBelow(runner.handover.workspace_dir), ...processesBelow(runner.child.pid ?? 0)];
      expect(places.length).toBeGreaterThan(20);
      const sent = [runner.logged, ...runner.plane.requests.map(({ body }) => body.toString('latin1'))];
      const reported = { name: 'what the runner has sent and logged', content: Buffer.from(sent.join('\n'), 'latin1') };
      expect(placesWith([...keys.values()].flatMap(linesOf), [...places, reported])).toEqual([]);
      expect(await runner.close()).toBe(0);
    },
  );

  it('uses the keys for git and for the repositories of the run only', async () => {
    const { port, user } = server;
    const ssh = `$(git config core.sshCommand | tr -d "'")`;
    const runner = await start({
      assignment: {
        repositories: [repository('app')],
        prompt: prompt(
          fence('sh', `git ls-remote ${server.urlOf('other')} 2>&1`),
          fence('sh', `git ls-remote ssh://${user}@127.0.0.1:1/acme/app.git 2>&1`),
          fence('sh', `${ssh} -p ${port} ${user}@127.0.0.1 id 2>&1`),
          fence('sh', `${ssh} -p ${port} ${user}@127.0.0.1 "git-upload-pack '/acme/app.git'; id" 2>&1`),
          fence(
            'sh',
            `${ssh} -p ${port} -o ProxyCommand=id ${user}@127.0.0.1 "git-upload-pack '/acme/app.git'" < /dev/null 2> /dev/null | head -c 4`,
          ),
        ),
      },
    });
    await runner.plane.untilEvent('turn_ended');
    const [other, elsewhere, command, injected, options] = outputs(runner);
    for (const refused of [other, command, injected])
      expect(refused).toMatch(/Host key verification failed|Permission denied/);
    expect(elsewhere).toContain('Connection refused');
    expect(options).toMatch(/^[0-9a-f]{4}$/);
    expect(requested(runner)).toEqual([
      { url: 'ssh://127.0.0.1/acme/other', granted: false },
      { url: server.urlOf('app'), granted: true },
    ]);
  });

  it('is refused to another user, and after the end of the execution', async () => {
    const first = await start({ ownUser: isRoot, assignment: { repositories: [repository('app')], prompt: 'Hello' } });
    await first.plane.untilEvent('turn_ended');
    const socket = join(first.handover.workspace_dir, 'git', 'ssh.sock');
    expect(statSync(first.handover.workspace_dir).mode & 0o777).toBe(0o700);
    if (isRoot) {
      const connect = `require('node:net').connect(${JSON.stringify(socket)}).on('error', ({ code }) => console.log(code)).on('connect', () => process.exit())`;
      const second = await start({
        ownUser: true,
        assignment: {
          repositories: [],
          prompt: fence('sh', `node -e '${connect.replaceAll("'", `"'"`).replaceAll('"\'"', '"')}'`),
        },
      });
      await second.plane.untilEvent('turn_ended');
      expect(outputs(second)).toEqual(['EACCES\n']);
    }
    const early = createConnection(socket);
    await new Promise((resolve) => early.once('connect', resolve));
    const received: Buffer[] = [];
    early.on('data', (chunk) => received.push(chunk));
    const ended = new Promise((resolve) => early.once('close', resolve));
    expect(await first.close()).toBe(0);
    early.end(`${JSON.stringify({ args: [], protocol: '' })}\n`);
    await ended;
    expect(received).toEqual([]);
    expect(existsSync(socket)).toBe(false);
    expect(requested(first)).toEqual([]);
  });
});

const repository = (name: string) => ({
  url: server.urlOf(name),
  directory: name,
  credential: { password: keys.get(name) ?? '' },
});

async function start({ assignment, handover, ...rest }: StartOptions = {}): Promise<RunnerProcess> {
  const git = { mirrors_dir: join(root, 'mirrors'), clone_timeout_seconds: 60, max_repository_bytes: 50_000_000 };
  const runner = await RunnerProcess.start({
    assignment: { git: GIT, ...assignment },
    handover: { git, ...handover },
    ...rest,
  });
  runners.push(runner);
  return runner;
}

const outputs = ({ plane }: RunnerProcess): string[] =>
  plane.calls().map(({ output }) => (output as { output: string }).output);
const requested = ({ plane }: RunnerProcess): GitCredentialRequested[] =>
  plane.data<GitCredentialRequested>('git_credential_requested');
