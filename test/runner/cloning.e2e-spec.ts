import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SetupCommandFinished } from '#execution/runner-protocol';
import { GitFixture, GitServer } from '#testing';
import { until } from '../support/installation.js';
import { AGENT_USERS, fence, isRoot, pidsWith, prompt, RunnerProcess, type StartOptions } from './runner-process.js';

const PASSWORD = `t0ken/${randomBytes(15).toString('base64')}`;
const runners: RunnerProcess[] = [];
let root: string;
let server: GitServer;
let git: { local_roots: string[]; mirrors_dir: string; clone_timeout_seconds: number; max_repository_bytes: number };

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'headrace-cloning-'));
  await chmod(root, 0o711);
  const first = new GitFixture(join(root, 'local', 'first'));
  first.commit({ 'first.txt': 'one\n', passwd: { link: '/etc/passwd' } });
  const second = new GitFixture(join(root, 'source', 'second'));
  second.commit({ 'second.txt': 'two\n' });
  second.publish(join(root, 'served', 'second.git'));
  server = await GitServer.start({
    root: join(root, 'served'),
    login: { username: 'x-access-token', password: PASSWORD },
  });
  git = {
    local_roots: [join(root, 'local')],
    mirrors_dir: join(root, 'mirrors'),
    clone_timeout_seconds: 60,
    max_repository_bytes: 50_000_000,
  };
});
afterAll(async () => {
  await server.stop();
  rmSync(root, { recursive: true, force: true });
});
afterEach(async () => {
  server.release();
  await Promise.all(runners.splice(0).map((runner) => runner.dispose()));
});

async function start(options: StartOptions): Promise<RunnerProcess> {
  const runner = await RunnerProcess.start({ ...options, handover: { git, ...options.handover } });
  runners.push(runner);
  return runner;
}

const first = () => ({ url: join(root, 'local', 'first'), directory: 'first' });
const second = () => ({ url: `${server.url}/second.git`, directory: 'second', credential: { password: PASSWORD } });
const environment = (...commands: string[]) => ({ uid: 'e'.repeat(22), setup_commands: commands, env: {} });
const steps = (runner: RunnerProcess): SetupCommandFinished[] =>
  runner.plane.data<SetupCommandFinished>('setup_command_finished');
const reported = ({ plane, logged }: RunnerProcess): string =>
  [
    logged,
    JSON.stringify(plane.finished),
    ...plane.requests.map(({ body, query }) => `${query.toString()} ${body.toString('latin1')}`),
  ].join('\n');

describe('repositories', () => {
  it.each(AGENT_USERS)('are cloned side by side before the first command, as %s', async (_name, ownUser) => {
    const runner = await start({
      ownUser,
      assignment: {
        repositories: [first(), second()],
        environment: environment(
          'cat first/first.txt second/second.txt; stat -c %u first/first.txt second/.git; id -u',
        ),
        prompt: prompt(
          fence('sh', 'ls; git -C first status --short --branch; git -C second log --oneline | wc -l'),
          fence(
            'sh',
            'cat first/.git/config second/.git/config; find . -type f -path "*/.git/*" -exec cat {} +; env; tr "\\0" "\\n" < /proc/self/environ',
          ),
        ),
      },
    });
    await runner.plane.untilEvent('turn_ended');
    const [one, two, command] = steps(runner);
    expect(runner.plane.data('setup_started')).toEqual([{ commands: 3 }]);
    expect([one, two, command].map((step) => [step?.index, step?.exit_code, step?.command])).toEqual([
      [0, 0, `git clone ${root}/local/first`],
      [1, 0, `git clone ${server.url}/second.git`],
      [2, 0, expect.stringContaining('cat first')],
    ]);
    expect(one?.output).toMatch(/^refs\/heads\/main at [0-9a-f]{40}, in first\n$/);
    const uid = ownUser ? runner.handover.run_as?.uid : process.getuid?.();
    expect(command?.output).toBe(`one\ntwo\n${uid}\n${uid}\n${uid}\n`);
    const [listed, secrets] = runner.plane.calls().map(({ output }) => (output as { output: string }).output);
    expect(listed).toBe('first\nsecond\n## main...origin/main\n1\n');
    expect(secrets).toContain(`url = ${server.url}/second.git`);
    // `***` would be the runner's own doing.
    expect(secrets).not.toContain('***');
    expect(secrets).not.toContain(join(root, 'mirrors'));
    expect(reported(runner)).not.toContain(PASSWORD);
    expect(await runner.close()).toBe(0);
  });

  it('that are single are the working directory of commands and agent', async () => {
    const runner = await start({
      assignment: {
        repositories: [first()],
        environment: environment('cat first.txt'),
        prompt: fence('sh', 'pwd; git rev-parse --show-toplevel'),
      },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(steps(runner).at(-1)).toMatchObject({ index: 1, output: 'one\n' });
    const place = join(runner.work, 'first');
    expect(runner.plane.calls()).toMatchObject([{ output: { output: `${place}\n${place}\n` } }]);
  });

  it('with a password in the URL are rejected without the password in the message', async () => {
    const url = server.url.replace('://', `://someone:${encodeURIComponent(PASSWORD)}@`);
    const runner = await start({ assignment: { repositories: [{ url: `${url}/second.git`, directory: 'second' }] } });
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished).toMatchObject({ error_code: 'environment_setup_failed' });
    expect(steps(runner)[0]?.command).toBe(`git clone ${server.url.replace('://', '://***@')}/second.git`);
    expect(reported(runner)).not.toContain(encodeURIComponent(PASSWORD));
  });

  it('from a private address that the task does not allow are not fetched', async () => {
    server.asked.length = 0;
    const hosts = { allow_private: [], trusted_urls: ['https://github.com'] };
    const runner = await start({ handover: { git: { ...git, hosts } }, assignment: { repositories: [second()] } });
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished).toMatchObject({ error_code: 'environment_setup_failed' });
    expect(steps(runner)[0]?.output).toContain('GIT_ALLOW_PRIVATE');
    expect(server.asked).toEqual([]);
  });

  it('without a directory for mirrors leave no mirror', async () => {
    const temporary = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('headrace-mirrors-'));
    const before = temporary();
    const runner = await start({
      handover: { git: { local_roots: git.local_roots, clone_timeout_seconds: 60, max_repository_bytes: 50_000_000 } },
      assignment: { repositories: [first()], environment: environment('cat first.txt') },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(steps(runner).at(-1)).toMatchObject({ output: 'one\n' });
    expect(temporary()).toEqual(before);
  });
});

it('evicts unused mirrors beyond the limit of their size', async () => {
  const mirrors_dir = join(root, 'few-mirrors');
  const mirrors = (): string[] => readdirSync(mirrors_dir).filter((name) => name.endsWith('.git'));
  const work = new GitFixture(join(root, 'local', 'large'));
  work.commit({ large: randomBytes(2_000_000) });
  const cloned = async (repository: { url: string; directory: string }): Promise<void> => {
    const runner = await start({
      handover: { git: { ...git, mirrors_dir, max_mirrors_bytes: 1_000_000 } },
      assignment: { repositories: [repository], environment: environment('ls') },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(steps(runner).map(({ exit_code }) => exit_code)).toEqual([0, 0]);
  };
  await cloned({ url: work.path, directory: 'large' });
  const [large = ''] = mirrors();
  await cloned(first());
  expect(mirrors()).toHaveLength(2);
  utimesSync(join(mirrors_dir, large), 1, 1);
  await cloned(second());
  expect(mirrors()).toHaveLength(2);
  expect(mirrors()).not.toContain(large);
});

describe('a repository that cannot be fetched', () => {
  it.each([
    [
      'without its credential',
      () => ({ ...second(), credential: undefined as never }),
      /Authentication failed|could not read/,
    ],
    [
      'with another credential',
      () => ({ ...second(), credential: { password: 'some-other-password' } }),
      /Authentication failed/,
    ],
    ['outside the roots', () => ({ url: `file://${root}/source/second`, directory: 'x' }), /GIT_LOCAL_ROOTS/],
    ['by a link out of the roots', () => ({ url: join(root, 'local', 'link'), directory: 'x' }), /GIT_LOCAL_ROOTS/],
    ['by a command', () => ({ url: 'ext::sh -c touch% never', directory: 'x' }), /must (be a git URL|not contain)/],
    ['by an option as its ref', () => ({ ...first(), ref: '--upload-pack=touch never' }), /hyphen/],
    ['by a ref that is not there', () => ({ ...first(), ref: 'nowhere' }), /no branch or tag nowhere/],
    ['into another directory', () => ({ ...first(), directory: '../out' }), /directory/],
  ])('%s fails the run with the message of git', async (_, repository, says) => {
    if (!existsSync(join(root, 'local', 'link')))
      symlinkSync(join(root, 'source', 'second'), join(root, 'local', 'link'));
    const { credential, ...rest } = repository() as ReturnType<typeof second>;
    const asked = { ...rest, ...((credential as unknown) ? { credential } : {}) };
    const runner = await start({
      assignment: { repositories: [first(), asked], environment: environment('touch never') },
    });
    expect(await runner.exited).toBe(0);
    const failed = steps(runner).find(({ exit_code: code }) => code !== 0);
    expect(failed).toMatchObject({ index: 1, command: `git clone ${asked.url}`, output: expect.stringMatching(says) });
    expect(steps(runner).some(({ index }) => index > 1)).toBe(false);
    expect(runner.plane.finished).toMatchObject({ outcome: 'failed', error_code: 'environment_setup_failed' });
    expect(runner.plane.finished?.message).toMatch(/^Set-up command 2 \(`git clone /);
    expect(runner.plane.finished?.message).toMatch(says);
    expect(reported(runner)).not.toContain('some-other-password');
  });

  it('is stopped with the execution, and no git process remains', async () => {
    server.hold();
    const runner = await start({ assignment: { repositories: [second()], environment: environment('ls') } });
    await until(() => server.asked.length > 0 && runner.marked().length > 0, 10_000, 'git');
    runner.plane.want('stop');
    expect(await runner.exited).toBe(0);
    expect(runner.marked()).toEqual([]);
    expect(runner.plane.finished).toMatchObject({ outcome: 'cancelled' });
  });

  it('that was killed during the mirror does not block the next fetch', async () => {
    const directory = join(root, 'mirrors-killed');
    mkdirSync(directory);
    server.hold();
    server.asked.length = 0;
    const killed = await start({
      handover: { git: { ...git, mirrors_dir: directory } },
      assignment: { repositories: [second()], environment: environment('ls') },
    });
    await until(() => server.asked.length > 0 && killed.marked().length > 0, 10_000, 'git');
    const gits = killed.marked();
    expect(gits.length).toBeGreaterThan(0);
    killed.child.kill('SIGKILL');
    await killed.exited;
    for (const pid of gits) if (pidsWith((other) => other === pid).length > 0) process.kill(pid, 'SIGKILL');
    expect(readdirSync(directory).some((name) => name.endsWith('.lock'))).toBe(true);
    server.release();
    const next = await start({
      handover: { git: { ...git, mirrors_dir: directory } },
      assignment: { repositories: [second()], environment: environment('cat second.txt') },
    });
    await next.plane.untilEvent('turn_ended');
    expect(steps(next).at(-1)).toMatchObject({ output: 'two\n' });
  });

  it('that two runners need is fetched once', async () => {
    const directory = join(root, 'mirrors-shared');
    server.hold();
    server.asked.length = 0;
    const assignment = { repositories: [second()], environment: environment('cat second.txt') };
    const pair = await Promise.all(
      [1, 2].map(() => start({ handover: { git: { ...git, mirrors_dir: directory } }, assignment })),
    );
    await until(
      () => server.asked.length > 0 && pair.every((runner) => runner.plane.requests.length > 2),
      10_000,
      'both',
    );
    server.release();
    await Promise.all(pair.map((runner) => runner.plane.untilEvent('turn_ended')));
    // Three requests share one fetch; the waiting ones use its result, or check once more for changes.
    const packs = server.asked.filter((line) => line.startsWith('POST'));
    expect(packs.length).toBeLessThanOrEqual(4);
    expect(readdirSync(directory).filter((name) => name.endsWith('.git'))).toHaveLength(1);
  });
});

describe('secrets', () => {
  it.each(AGENT_USERS)('reach commands and agent, and are redacted from all reports, as %s', async (_name, ownUser) => {
    const value = `s3cret-${randomBytes(16).toString('hex')}`;
    const runner = await start({
      ownUser,
      assignment: {
        secrets: { DEPLOY: value },
        environment: environment(
          'test -n "$DEPLOY" && echo "setup: $DEPLOY"; echo ${#DEPLOY}; printf %s "user:$DEPLOY" | base64 -w0',
        ),
        prompt: prompt(
          `The key is ${value}.`,
          fence('sh', 'echo "agent: $DEPLOY ${#DEPLOY}"'),
          fence('fail', `broken by ${value}`),
        ),
      },
    });
    await runner.exited;
    expect(steps(runner)).toMatchObject([
      { exit_code: 0, output: expect.stringMatching(/^setup: \*\*\*\n39\n\S*\*\*\*/) },
    ]);
    expect(JSON.stringify(runner.plane.calls())).toContain('agent: *** 39');
    expect(JSON.stringify(runner.plane.finished)).toContain('broken by ***');
    expect(runner.plane.uploads.length).toBeGreaterThan(0);
    const everything = reported(runner) + runner.plane.uploads.map(({ bytes }) => bytes.toString('latin1')).join('\n');
    expect(everything).toContain('***');
    for (const form of [value, Buffer.from(`user:${value}`).toString('base64').slice(8, -4)])
      expect(everything).not.toContain(form);
    for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
      expect(existsSync(`/proc/${name}/cmdline`) ? safeRead(`/proc/${name}/cmdline`) : '').not.toContain(value);
    }
  });
});

describe('the diff of a cloned repository', () => {
  const diffs = ({ plane }: RunnerProcess): string[] =>
    plane.artifacts.map(({ reported, content }) => {
      expect(reported).toMatchObject({ artifact_type: 'DIFF', mime_type: 'text/x-diff', filepath: 'first.diff' });
      return content?.toString() ?? '';
    });

  it('is uploaded again when it has changed, and an empty one when it cannot be made any more', async () => {
    const runner = await start({
      ownUser: isRoot,
      limits: { max_artifact_bytes: 100_000 },
      assignment: { repositories: [first()], prompt: prompt(fence('sh', 'echo two >> first.txt')) },
    });
    const { plane } = runner;
    await plane.untilEvent('turn_ended');
    expect(diffs(runner)).toEqual([expect.stringContaining('+two')]);
    const turns = ['true', 'echo three >> first.txt', 'seq 30000 > added.txt', 'git checkout -q . && rm added.txt'];
    for (const [index, script] of turns.entries()) {
      plane.say(`f${index}`, prompt(fence('sh', script)));
      await plane.untilEvent('turn_ended', index + 2);
    }
    expect(diffs(runner).slice(1)).toEqual([expect.stringContaining('+three'), '']);
    expect(plane.data('output_truncated')).toEqual([
      { artifacts: [{ artifact: 'first.diff', problem: expect.stringContaining('is too large') }] },
    ]);
    expect(await runner.close()).toBe(0);
    expect(diffs(runner)).toHaveLength(3);
  });

  it('of a cancelled turn is uploaded, and programs that git has started for it are ended', async () => {
    const runner = await start({
      ownUser: isRoot,
      assignment: {
        repositories: [first()],
        prompt: prompt(
          fence(
            'sh',
            [
              `git config filter.left.clean 'setsid sleep 300 < /dev/null > /dev/null 2>&1 & exec cat'`,
              `echo '*.txt filter=left' > .gitattributes`,
              'echo cancelled >> first.txt; echo ready; sleep 600',
            ].join('\n'),
          ),
        ),
      },
    });
    const { plane } = runner;
    await plane.until(() => JSON.stringify(plane.calls()).includes('ready\\n'), 'the command has changed the file');
    plane.want('stop');
    expect(await runner.exited).toBe(0);
    expect(plane.finished).toMatchObject({ outcome: 'cancelled' });
    expect(diffs(runner)).toEqual([expect.stringContaining('+cancelled')]);
    expect(runner.marked()).toEqual([]);
  });
});

function safeRead(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return ''; // ended meanwhile
  }
}
