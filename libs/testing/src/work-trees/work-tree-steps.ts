import { execFileSync } from 'node:child_process';
import { createCipheriv } from 'node:crypto';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/*
 * Changes of a work tree as data, so that a test can choose them and the agent of a run can make them. This file imports
 * nothing else, and is executed by agents too.
 */

export type WorkTreeContent = { readonly text: string } | { readonly lines: number } | { readonly random: number };

export type WorkTreeStep =
  | { readonly do: 'write'; readonly path: string; readonly content: WorkTreeContent; readonly mode: number }
  | { readonly do: 'remove'; readonly path: string }
  | { readonly do: 'rename'; readonly path: string; readonly to: string }
  | { readonly do: 'link'; readonly path: string; readonly target: string }
  | { readonly do: 'chmod'; readonly path: string; readonly mode: number }
  | { readonly do: 'mkdir'; readonly path: string; readonly mode: number }
  | { readonly do: 'git'; readonly args: readonly string[]; readonly at?: string }
  | { readonly do: 'nested repository' }
  | { readonly do: 'submodule' }
  | { readonly do: 'LFS pointer' }
  | { readonly do: 'name that is not UTF-8' };

const IDENTITY = ['-c', 'user.name=a', '-c', 'user.email=a@example.test', '-c', 'protocol.file.allow=always'];
const LFS_HASH = 'ab'.repeat(32);

export function git(cwd: string, ...args: readonly string[]): string {
  return execFileSync('git', [...IDENTITY, ...args], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 256 * 1_048_576,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
  });
}

/** The repository `work/app` below the root, with the remote repository `home/origin.git`. */
export function initWorkTree(root: string): void {
  const [app, origin] = [join(root, 'work/app'), join(root, 'home/origin.git')];
  for (const path of [app, origin]) mkdirSync(path);
  git(origin, 'init', '--quiet', '--bare');
  git(app, 'init', '--quiet', '--initial-branch=main');
  // Relative: the repository moves together with the work tree.
  git(app, 'remote', 'add', 'origin', '../../home/origin.git');
}

/** A step that is not possible in this state of the work tree changes nothing. */
export function applyWorkTreeSteps(root: string, steps: readonly WorkTreeStep[]): void {
  for (const step of steps) {
    try {
      apply(root, step);
    } catch {
      continue;
    }
  }
}

function apply(root: string, step: WorkTreeStep): void {
  const app = join(root, 'work/app');
  const place = 'path' in step ? join(app, step.path) : app;
  switch (step.do) {
    case 'write':
      return write(place, contentOf(step.content), step.mode);
    case 'remove':
      return rmSync(place, { recursive: true, force: true });
    case 'rename':
      return renameSync(place, join(app, step.to));
    case 'link':
      return symlinkSync(step.target, place);
    case 'chmod':
      return chmodSync(place, step.mode);
    case 'mkdir':
      mkdirSync(place);
      return chmodSync(place, step.mode);
    case 'git':
      return void git(join(app, step.at ?? '.'), ...step.args);
    case 'nested repository': {
      const nested = join(app, 'nested');
      mkdirSync(nested);
      git(nested, 'init', '--quiet');
      writeFileSync(join(nested, 'inside'), 'inside');
      return void git(nested, 'add', 'inside');
    }
    case 'submodule': {
      const library = join(root, 'home/library');
      mkdirSync(library);
      git(library, 'init', '--quiet');
      writeFileSync(join(library, 'of-library'), 'x');
      git(library, 'add', '.');
      git(library, 'commit', '--quiet', '--message=library');
      return void git(app, 'submodule', '--quiet', 'add', '../../home/library', 'module');
    }
    case 'LFS pointer':
      write(join(app, '.gitattributes'), '*.bin filter=lfs diff=lfs merge=lfs -text\n', 0o644);
      write(
        join(app, 'large.bin'),
        `version https://git-lfs.github.com/spec/v1\noid sha256:${LFS_HASH}\nsize 3\n`,
        0o644,
      );
      return write(join(app, `.git/lfs/objects/ab/ab/${LFS_HASH}`), 'abc', 0o444);
    case 'name that is not UTF-8':
      return writeFileSync(Buffer.concat([Buffer.from(`${app}/`), Buffer.from([0xff, 0x41])]), 'not UTF-8');
  }
}

function write(place: string, content: string | Buffer, mode: number): void {
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, content);
  chmodSync(place, mode);
}

function contentOf(content: WorkTreeContent): string | Buffer {
  if ('text' in content) return content.text;
  if ('lines' in content) return 'line\n'.repeat(content.lines);
  // The same bytes every time, and no compression makes them smaller.
  return createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(content.random));
}
