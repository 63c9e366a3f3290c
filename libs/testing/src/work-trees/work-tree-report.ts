import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { git } from './work-tree-steps.js';

/*
 * What has to be equal in two work trees, as lines. Executed by agents too, so that it imports nothing else.
 */

/** Git sets the time of an object that it would write again, and that is all that ever changes of it. */
const OBJECT = /(^|\/)\.git\/.*objects\/([0-9a-f]{2}|pack)\//;
/** Worktrees name each other by absolute paths. */
const POINTER = /(^|\/)\.git$|\/worktrees\/[^/]+\/gitdir$/;
const MAX_SHOWN_BYTES = 1000;
const IGNORED = 'work/app/ignored.log';
const PLACES = ['work', 'home/library', 'home/origin.git'];

/** Every entry with its type, mode, time and content. */
export function listWorkTree(root: string): string[] {
  return PLACES.filter((place) => existsSync(join(root, place))).flatMap((place) => listing(root, place));
}

/** Without the file that rules of git exclude, if they do. */
export function listSnapshotted(root: string): string[] {
  const isIgnored = succeeds(() => git(join(root, 'work/app'), 'check-ignore', '--quiet', 'ignored.log'));
  return listWorkTree(root).filter((line) => !isIgnored || !line.startsWith(`${IGNORED} `));
}

function listing(root: string, prefix: string): string[] {
  return readdirSync(Buffer.from(join(root, prefix), 'latin1'), { encoding: 'latin1' })
    .sort()
    .flatMap((entry) => {
      const key = `${prefix}/${entry}`;
      const path = Buffer.from(join(root, key), 'latin1');
      const stats = lstatSync(path);
      const bits = (stats.mode & 0o7777).toString(8);
      if (stats.isDirectory()) return [`${key}/ ${bits}`, ...listing(root, key)];
      if (stats.isSymbolicLink()) return [`${key} -> ${readlinkSync(path, 'latin1')}`];
      return [`${key} ${bits} ${timeOf(key, stats)} ${contentOf(root, key, readFileSync(path))}`];
    });
}

const timeOf = (key: string, stats: Stats): string => (OBJECT.test(key) ? '' : String(Math.round(stats.mtimeMs)));

function contentOf(root: string, key: string, bytes: Buffer): string {
  if (POINTER.test(key)) return JSON.stringify(bytes.toString('latin1').replace(root, '<root>'));
  if (bytes.length <= MAX_SHOWN_BYTES) return bytes.toString('base64');
  return `${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}`;
}

/** What git says of every repository. It may write the index, so this comes after the listing of what was restored. */
export function gitStateOf(root: string): string[] {
  return ['work/app', 'work/app/nested', 'work/app/module', 'work/tree', 'work/bare', 'home/library']
    .filter((path) => existsSync(join(root, path, '.git')))
    .flatMap((path) => {
      const at = (...args: readonly string[]): string => {
        try {
          return git(join(root, path), ...args).replaceAll(root, '<root>');
        } catch (error) {
          return `fails with ${String((error as { status: number }).status)}`;
        }
      };
      return [
        path,
        at('status', '--porcelain=v2', '--branch', '--untracked-files=all', '-z'),
        at('diff', '--cached', '--binary'),
        at('for-each-ref'),
        at('stash', 'list'),
        at('worktree', 'list', '--porcelain'),
        at('submodule', 'status'),
        at('fsck', '--connectivity-only', '--no-dangling'),
      ];
    });
}

function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
