import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkOut, MirrorCache } from '#platform/git';
import { diffRepository } from './repository-diff.js';

const AUTHOR = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
const BINARY = Buffer.from([0, 1, 2, 255, 0, 10]);

let root: string;
let origin: string;
let base: string;
let tmp: string;
let work: string;

const git = (directory: string, ...args: string[]): string =>
  execFileSync('git', [...AUTHOR, ...args], { cwd: directory, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const write = (path: string, content: string | Buffer): void => writeFileSync(join(work, path), content);

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'headrace-diff-'));
  [origin, base, tmp] = [join(root, 'origin'), join(root, 'work'), join(root, 'tmp')];
  work = join(base, 'app');
  for (const directory of [origin, base, tmp]) mkdirSync(directory);
  git(origin, 'init', '--quiet', '--initial-branch=main');
  const lines = Array.from({ length: 40 }, (_, line) => `line ${line}\n`).join('');
  writeFileSync(join(origin, 'README.md'), lines);
  writeFileSync(join(origin, 'old.txt'), `old\n${lines}`);
  writeFileSync(join(origin, 'gone.txt'), 'gone\n');
  writeFileSync(join(origin, 'run.sh'), '#!/bin/sh\n');
  writeFileSync(join(origin, 'image.bin'), BINARY);
  writeFileSync(join(origin, '.gitignore'), 'node_modules\n');
  git(origin, 'add', '--all');
  git(origin, 'commit', '--quiet', '--message=first');
  await clone();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function clone(ref?: string): Promise<void> {
  rmSync(work, { recursive: true, force: true });
  const cache = new MirrorCache({ directory: join(root, 'mirrors'), localRoots: [root] });
  const mirror = await cache.mirror({ url: origin }, { ref });
  await checkOut({ mirror, ref, url: origin, parent: base, directory: 'app' });
}

const diff = (maxBytes?: number, signal = AbortSignal.timeout(20_000), runAs?: { uid: number; gid: number }) =>
  diffRepository(
    { directory: 'app' },
    { workspace: { places: { work: base }, tmp, runAs, boundsOf: () => root }, maxBytes, environment: {}, signal },
  );

/** The tree of the files of a directory, ignored ones excluded, as git identifies it. */
function treeOf(directory: string): string {
  const scratch = join(root, 'scratch-index');
  rmSync(scratch, { force: true });
  const env = { ...process.env, GIT_INDEX_FILE: scratch };
  const inTree = (...args: string[]): string =>
    execFileSync('git', [...AUTHOR, ...args], { cwd: directory, env, encoding: 'utf8' });
  inTree('add', '--all');
  return inTree('write-tree').trim();
}

/** Applies a patch to a new clone of the commit, and returns the tree that results. */
function treeAfter({ commit, patch }: { commit: string; patch: Buffer }): string {
  const copy = join(root, 'copy');
  rmSync(copy, { recursive: true, force: true });
  git(root, 'clone', '--quiet', origin, copy);
  git(copy, 'checkout', '--quiet', commit);
  writeFileSync(join(root, 'patch'), patch);
  git(copy, 'apply', join(root, 'patch'));
  return treeOf(copy);
}

async function applied(): Promise<{ commit: string; patch: Buffer }> {
  const made = await diff();
  if (made === null) throw new Error('There is no diff.');
  return made;
}

describe('the diff of a repository', () => {
  it('is empty when nothing has changed', async () => {
    const commit = git(origin, 'rev-parse', 'HEAD').trim();
    expect(await applied()).toEqual({ commit, patch: Buffer.alloc(0), problem: null });
  });

  it('applies to the commit of the start and results in the same files', async () => {
    write('README.md', `${readFileSync(join(work, 'README.md'), 'utf8')}more\n`);
    git(work, 'mv', 'old.txt', 'new name ü.txt');
    rmSync(join(work, 'gone.txt'));
    chmodSync(join(work, 'run.sh'), 0o755);
    write('image.bin', Buffer.concat([BINARY, BINARY]));
    symlinkSync('README.md', join(work, 'link'));
    write('staged.txt', 'staged\n');
    git(work, 'add', 'staged.txt');
    write('staged.txt', 'staged, then changed\n');
    write('committed.txt', 'committed\n');
    git(work, 'add', 'committed.txt');
    git(work, 'commit', '--quiet', '--message=second', '--', 'committed.txt');
    mkdirSync(join(work, 'src'));
    write('src/not tracked\nand two lines.txt', 'text without an end of line');
    write('empty', '');
    mkdirSync(join(work, 'node_modules'));
    write('node_modules/package.js', 'ignored\n');
    const made = await applied();
    expect(treeAfter(made)).toBe(treeOf(work));
    const text = made.patch.toString('utf8');
    expect(text).toContain('rename from old.txt');
    expect(text).not.toContain('ignored');
  });

  it('contains commits of other branches of the agent, and none after the agent has restored the files', async () => {
    git(work, 'checkout', '--quiet', '-b', 'fix');
    write('fix.txt', 'fixed\n');
    git(work, 'add', '--all');
    git(work, 'commit', '--quiet', '--amend', '--message=rewritten');
    const made = await applied();
    expect(made.patch.toString()).toContain('+fixed');
    expect(treeAfter(made)).toBe(treeOf(work));
    git(work, 'rm', '--quiet', 'fix.txt');
    expect((await applied()).patch).toHaveLength(0);
  });

  it('does not change the repository and leaves no file', async () => {
    write('untracked.txt', 'text\n');
    write('README.md', 'changed\n');
    git(work, 'add', 'README.md');
    git(work, 'config', 'core.splitIndex', 'true');
    const stateOf = () => [
      readFileSync(join(work, '.git/index')),
      git(work, '--no-optional-locks', 'status', '--porcelain=v2', '--branch'),
      ...readdirSync(join(work, '.git'), { recursive: true, encoding: 'utf8' }).map(
        // Each program that reads a shared index renews its time.
        (name) => (name.startsWith('sharedindex') ? name : `${name} ${statSync(join(work, '.git', name)).mtimeMs}`),
      ),
    ];
    const before = stateOf();
    expect((await applied()).patch.length).toBeGreaterThan(0);
    expect(stateOf()).toEqual(before);
    expect(readdirSync(tmp)).toEqual([]);
    expect(git(work, 'for-each-ref', '--format=%(refname)').split('\n')).toEqual([
      'refs/heads/main',
      'refs/remotes/origin/main',
      '',
    ]);
  });

  it('contains a change of the same size that was made in the second of the check-out', async () => {
    const past = new Date('2026-01-01T00:00:00Z');
    const path = join(work, 'gone.txt');
    git(work, 'config', 'core.trustctime', 'false');
    utimesSync(path, past, past);
    git(work, 'update-index', '--refresh');
    utimesSync(join(work, '.git/index'), past, past);
    write('gone.txt', 'GONE\n');
    utimesSync(path, past, past);
    expect((await applied()).patch.toString()).toContain('+GONE');
  });

  it('is made from a detached commit, too', async () => {
    git(origin, 'tag', 'v1');
    await clone('v1');
    write('README.md', 'changed\n');
    expect(treeAfter(await applied())).toBe(treeOf(work));
  });

  it('does not follow the configuration of the agent for diffs', async () => {
    write('README.md', 'changed\n');
    write('.gitattributes', '*.md diff=shout\n');
    const settings = {
      'diff.noprefix': 'true',
      'diff.external': '/bin/false',
      'diff.shout.textconv': '/bin/false',
      'diff.shout.command': '/bin/false',
      'diff.context': '0',
      'color.diff': 'always',
      'core.hooksPath': '/nonexistent',
    };
    for (const [name, value] of Object.entries(settings)) git(work, 'config', name, value);
    expect(treeAfter(await applied())).toBe(treeOf(work));
  });

  it('names the commit of a nested repository, and leaves out one without a commit', async () => {
    for (const name of ['nested', 'empty']) git(work, 'init', '--quiet', name);
    write('nested/file', 'text\n');
    git(join(work, 'nested'), 'add', '--all');
    git(join(work, 'nested'), 'commit', '--quiet', '--message=nested');
    write('beside.txt', 'beside\n');
    const text = (await applied()).patch.toString();
    expect(text).toContain(`+Subproject commit ${git(join(work, 'nested'), 'rev-parse', 'HEAD').trim()}`);
    expect(text).toContain('+beside');
  });

  it('contains no file that a sparse checkout has removed', async () => {
    git(work, 'sparse-checkout', 'set', '--no-cone', '/README.md');
    expect(readdirSync(work)).not.toContain('gone.txt');
    write('README.md', 'changed\n');
    write('added.txt', 'added\n');
    const text = (await applied()).patch.toString();
    expect(text).not.toContain('gone.txt');
    expect(text).toContain('+changed');
  });

  it('contains files that the agent writes where a sparse checkout has removed them', async () => {
    for (const options of [
      ['--no-cone', '/README.md'],
      ['--cone', '--sparse-index', 'src'],
    ]) {
      await clone();
      mkdirSync(join(work, 'lib'));
      write('lib/a.txt', 'a\n');
      git(work, 'add', '--all');
      git(work, 'commit', '--quiet', '--message=lib');
      git(work, 'sparse-checkout', 'set', ...options);
      mkdirSync(join(work, 'lib'), { recursive: true });
      write('gone.txt', 'back\n');
      write('lib/a.txt', 'b\n');
      const text = (await applied()).patch.toString();
      expect(text).toContain('+back');
      expect(text).toContain('+b\n');
    }
  });

  it('compares ignored files of the start without an index', async () => {
    writeFileSync(join(origin, 'node_modules'), 'tracked\n');
    git(origin, 'add', '--force', 'node_modules');
    git(origin, 'commit', '--quiet', '--message=ignored');
    await clone();
    rmSync(join(work, '.git/index'));
    write('node_modules', 'changed\n');
    const text = (await applied()).patch.toString();
    expect(text).toContain('-tracked\n+changed');
    expect(text).not.toContain('deleted file');
  });

  it.skipIf(process.getuid?.() !== 0)('leaves out what the agent cannot read, and names it', async () => {
    write('secret', 'of root\n');
    chmodSync(join(work, 'secret'), 0o600);
    write('beside.txt', 'beside\n');
    const agent = { uid: 4711, gid: 4711 };
    chmodSync(root, 0o755);
    for (const path of [tmp, work, join(work, 'beside.txt'), join(work, '.git')])
      execFileSync('chown', [...(path.endsWith('.git') ? ['-R'] : []), '4711:4711', path]);
    const made = await diff(undefined, undefined, agent);
    expect(made?.problem).toBe('does not contain what cannot be read: secret');
    expect(made?.patch.toString()).toContain('+beside');
    expect(made?.patch.toString()).not.toContain('root');
    expect(readdirSync(tmp)).toEqual([]);
  });

  it('is made whatever the configuration says about the work tree and the order of files', async () => {
    write('README.md', 'changed\n');
    git(work, 'config', 'diff.orderFile', '/nonexistent');
    git(work, 'config', 'core.worktree', '/nonexistent');
    expect((await applied()).patch.toString()).toContain('+changed');
    git(work, 'config', '--file=.git/config', '--unset', 'core.worktree');
    git(work, 'config', 'core.bare', 'true');
    expect((await applied()).patch.toString()).toContain('+changed');
  });

  it('cannot be made when the commit of the start was deleted', async () => {
    git(work, 'checkout', '--quiet', '--orphan', 'other');
    git(work, 'commit', '--quiet', '--message=other');
    git(work, 'update-ref', '-d', 'refs/heads/main');
    git(work, 'update-ref', '-d', 'refs/remotes/origin/main');
    rmSync(join(work, '.git/shallow'), { force: true });
    const start = readFileSync(join(work, '.git/HEADRACE_HEAD'), 'utf8').trim();
    rmSync(join(work, '.git/HEADRACE_HEAD'));
    git(work, 'reflog', 'expire', '--expire=now', '--all');
    git(work, 'gc', '--quiet', '--prune=now');
    writeFileSync(join(work, '.git/HEADRACE_HEAD'), `${start}\n`);
    await expect(diff()).rejects.toThrow('could not be made: ');
  });

  it('is made without an index and in the middle of a merge', async () => {
    rmSync(join(work, '.git/index'));
    write('README.md', 'changed\n');
    expect(treeAfter(await applied())).toBe(treeOf(work));
    git(work, 'reset', '--quiet', '--hard');
    git(work, 'checkout', '--quiet', '-b', 'one');
    write('README.md', 'one\n');
    git(work, 'commit', '--quiet', '--all', '--message=one');
    git(work, 'checkout', '--quiet', '-b', 'two', 'main');
    write('README.md', 'two\n');
    git(work, 'commit', '--quiet', '--all', '--message=two');
    expect(() => git(work, 'merge', 'one')).toThrow('merge one');
    const text = (await applied()).patch.toString();
    expect(text).toContain('<<<<<<<');
  });

  it('does not exist for a directory that was not cloned, or is not there any more', async () => {
    rmSync(join(work, '.git/HEADRACE_HEAD'));
    expect(await diff()).toBeNull();
    rmSync(work, { recursive: true });
    expect(await diff()).toBeNull();
    writeFileSync(work, 'a file');
    expect(await diff()).toBeNull();
  });

  it('is rejected when it is larger than the limit', async () => {
    write('large.txt', 'x'.repeat(1000));
    await expect(diff(500)).rejects.toThrow('is too large: git printed more than 500 bytes.');
    expect(readdirSync(tmp)).toEqual([]);
  });

  it('is rejected before git reads files that are too large together', async () => {
    write('data.bin', '');
    truncateSync(join(work, 'data.bin'), 128 * 1_048_576 + 1);
    await expect(diff()).rejects.toThrow('is too large: The files that differ have more than 134217728 bytes.');
  });

  it('is made when the index is a pipe, and does not copy a link', async () => {
    write('README.md', 'changed\n');
    for (const replace of [
      () => execFileSync('mkfifo', [join(work, '.git/index')]),
      () => symlinkSync('/dev/zero', join(work, '.git/index')),
    ]) {
      rmSync(join(work, '.git/index'), { force: true });
      replace();
      expect((await applied()).patch.toString()).toContain('+changed');
    }
    expect(readdirSync(tmp)).toEqual([]);
  });

  it('does not wait for programs that a filter has left in the background', async () => {
    write('.gitattributes', '*.md filter=slow\n');
    git(work, 'config', 'filter.slow.clean', 'setsid sleep 60 > /dev/null & echo $! >> ../../pids; exec cat');
    write('README.md', 'changed\n');
    try {
      expect((await applied()).patch.toString()).toContain('+changed');
    } finally {
      for (const pid of readFileSync(join(root, 'pids'), 'utf8').trim().split('\n')) process.kill(Number(pid));
    }
  });

  it('contains no changes of files in a submodule', async () => {
    git(work, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', origin, 'module');
    git(work, 'commit', '--quiet', '--message=module');
    const before = await applied();
    write('module/README.md', 'changed\n');
    expect(await applied()).toEqual(before);
  });

  it('ends when it is aborted', async () => {
    write('README.md', 'changed\n');
    await expect(diff(undefined, AbortSignal.abort())).rejects.toThrow('git was stopped');
  });
});
