import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
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

const diff = (maxBytes?: number, signal = AbortSignal.timeout(20_000)) =>
  diffRepository(
    { directory: 'app' },
    { workspace: { base, tmp, runAs: undefined, boundsOf: () => root }, maxBytes, environment: {}, signal },
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
    expect(await applied()).toEqual({ commit: git(origin, 'rev-parse', 'HEAD').trim(), patch: Buffer.alloc(0) });
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
    const before = [readFileSync(join(work, '.git/index')), git(work, 'status', '--porcelain=v2', '--branch')];
    expect((await applied()).patch.length).toBeGreaterThan(0);
    expect([readFileSync(join(work, '.git/index')), git(work, 'status', '--porcelain=v2', '--branch')]).toEqual(before);
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
