import { chmodSync, chownSync, lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { chmod, lstat, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { makeDirectorySync } from '#platform/kernel';
import type { InPlace, HarnessDefinition } from '#execution/runner-protocol';
import { errorText, type RunnerLog } from '../runner-log.js';
import { sleep } from '../retry.js';
import { GitDirectory } from '../git/git-directory.js';
import { placesIn, type SnapshotPlaces } from '../snapshot/open-directory.js';

/** The directory of the workspaces is not available, such as a disk that is not mounted. */
export class WorkspacesMissingError extends Error {}

export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The one directory an execution may write to, mode 0700: `home/` (HOME, with the agent's settings and sessions),
 * `work/` (where commands and the agent start) and `tmp/` (TMPDIR, so that it is measured and deleted with the rest).
 */
export class Workspace {
  /** Where repositories are cloned into. */
  readonly base = join(this.root, 'work');
  readonly tmp = join(this.root, 'tmp');
  /**
   * Files in this directory are uploaded. Below TMPDIR: some agents may write only there and in the working directory,
   * which must start empty for `git clone <url> .`.
   */
  readonly artifacts = join(this.tmp, 'artifacts');
  /** Attachments of the run; not in the working directory for the same reason. */
  readonly attachments = join(this.tmp, 'attachments');

  /** What git reads about the run; not in directories of a user, whose own settings apply. */
  readonly git = this.inPlace ? null : new GitDirectory(join(this.root, 'git'), this.runAs);

  /** In a directory of a user repositories are not cloned, so that it has no such directory. */
  private hasStart = this.inPlace === undefined;

  private constructor(
    readonly root: string,
    readonly runAs: RunAs | undefined,
    /** Where the agent starts, relative to the working directory; undefined: there. */
    readonly startIn: string | undefined,
    private readonly inPlace: InPlace | undefined,
  ) {}

  /**
   * Creates the directories, owned by `runAs` when given; that user must be able to pass through the parent directories.
   * `startIn`: the directory in `work/` where commands and agent start, instead of `work/` itself. `inPlace`: existing
   * directories instead of `work/` and `home/`, which are never changed here.
   */
  static create(root: string, runAs?: RunAs, startIn?: string, inPlace?: InPlace): Workspace {
    makeRoot(root, runAs);
    if (!lstatSync(root).isDirectory()) throw new Error(`${root} is not a directory.`);
    const workspace = new Workspace(root, runAs, startIn, inPlace);
    // The root last: other users have no access before everything is created.
    const { base, work, tmp, artifacts, attachments } = workspace;
    const directories = [join(root, 'home'), base, ...(inPlace ? [] : [work]), tmp, artifacts, attachments, root];
    for (const directory of new Set(directories)) workspace.makeOwnDirectory(directory);
    return workspace;
  }

  get home(): string {
    return this.inPlace?.home_dir ?? join(this.root, 'home');
  }

  /** It consists of directories of a user. */
  get isInPlace(): boolean {
    return this.inPlace !== undefined;
  }

  get work(): string {
    const base = this.places.work;
    return this.startIn === undefined || !this.hasStart ? base : join(base, this.startIn);
  }

  /** The files are those of a snapshot, which has the directory `startIn` or not: it was taken in a directory of a user. */
  adoptStart(exists: boolean): void {
    if (this.startIn === undefined) return;
    this.hasStart = exists;
    // Empty, as it was created.
    if (!exists && !this.inPlace) rmdirSync(join(this.base, this.startIn));
  }

  /** What snapshots contain: of directories of a user only the working directory. */
  get places(): SnapshotPlaces {
    return this.inPlace ? { work: this.inPlace.work_dir } : placesIn(this.root);
  }

  /** The directory that must contain a file for it to be uploaded. */
  boundsOf(path: string): string {
    return this.inPlace && path.startsWith(this.inPlace.work_dir + sep) ? this.inPlace.work_dir : this.root;
  }

  /** Must run before anything else in the workspace, as {@link writeNewFile}: no link can redirect a path yet. */
  makeHomeDirectory(path: string): void {
    let directory = this.home;
    for (const part of relative(directory, path).split(sep)) {
      directory = join(directory, part);
      makeDirectorySync(directory);
      this.assignOwner(directory);
    }
  }

  /** Writes a file that must not exist yet. A partial file is removed after a failure, so that it can be retried. */
  async writeNewFile(path: string, bytes: Uint8Array): Promise<void> {
    try {
      await writeFile(path, bytes, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(path, { force: true });
      throw error;
    }
    this.assignOwner(path);
  }

  /** Removes the repositories, and everything else in the directory in which commands and agent start. */
  async recreateWork(): Promise<void> {
    await removeTree(this.base);
    for (const directory of [this.base, this.work]) this.makeOwnDirectory(directory);
  }

  /** To be called when all processes of the execution have ended. A failure is logged, not thrown. */
  async remove(log: RunnerLog): Promise<void> {
    await removeTree(this.root).catch((error: unknown) => {
      log.warn('the workspace could not be removed', { error: errorText(error) });
    });
  }

  private makeOwnDirectory(path: string): void {
    makeDirectorySync(path);
    chmodSync(path, 0o700);
    this.assignOwner(path);
  }

  private assignOwner(path: string): void {
    if (this.runAs) chownSync(path, this.runAs.uid, this.runAs.gid);
  }
}

/** The host has created the parent. When it was deleted and is created again, users of agents must be able to pass through. */
function makeRoot(root: string, runAs: RunAs | undefined): void {
  const parent = dirname(root);
  try {
    if (makeDirectorySync(parent) && runAs) chmodSync(parent, 0o711);
    makeDirectorySync(root);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new WorkspacesMissingError(`${parent}, the directory of the workspaces, is a broken link.`);
  }
}

/** Entries of a tree that is removed at once, without the pool of threads, which needs ten times the processor time. */
const SMALL_TREE = 100;

/** Removes a directory recursively, even when an agent has removed permissions of subdirectories. */
export async function removeTree(directory: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 3 } as const;
  if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) return;
  try {
    if (isSmallTree(directory)) rmSync(directory, options);
    else await rm(directory, options);
  } catch {
    await restorePermissions(directory);
    await rm(directory, options);
  }
}

function isSmallTree(root: string): boolean {
  const directories = [root];
  for (let entries = 0; entries <= SMALL_TREE;) {
    const directory = directories.pop();
    if (directory === undefined) return true;
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      entries += 1;
      if (entry.isDirectory()) directories.push(join(directory, entry.name));
    }
  }
  return false;
}

async function restorePermissions(directory: string): Promise<void> {
  try {
    await chmod(directory, 0o700);
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      if (entry.isDirectory()) await restorePermissions(join(directory, entry.name));
    }
  } catch {
    return; // a directory of another user: the removal reports it
  }
}

const HOME = '{home}/';

/** Creates the directories below the home directory that variables of the harness name: Codex requires its directory. */
export function makeHomeDirectories({ env = {} }: HarnessDefinition, workspace: Workspace): void {
  for (const value of Object.values(env)) {
    const parts = value.startsWith(HOME) ? value.slice(HOME.length).split('/') : [];
    if (parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('{'))) continue;
    if (parts.length > 0) workspace.makeHomeDirectory(join(workspace.home, ...parts));
  }
}

const FIRST_MS = 500;
const MIN_PAUSE_MS = 1_000;
/** Upper bound of the pause: after a longer one a workspace could be far over its limit. */
const MAX_PAUSE_MS = 10_000;
/** Measuring takes about one hundredth of the time, until MAX_PAUSE_MS. */
const PAUSE_PER_MEASURE = 99;

/** Bytes that a directory occupies on disk. Symbolic links are not followed; files that are deleted meanwhile do not count. */
export async function occupiedBytes(directory: string, signal: AbortSignal): Promise<number> {
  let total = 0;
  for (const stack = [directory]; !signal.aborted;) {
    const current = stack.pop();
    if (current === undefined) break;
    for (const entry of await readdir(current, { withFileTypes: true }).catch(() => [])) {
      const path = join(current, entry.name);
      if (entry.isDirectory()) stack.push(path);
      total += ((await lstat(path).catch(() => null))?.blocks ?? 0) * 512;
    }
  }
  return total;
}

/** Resolves to the measured bytes once they exceed the limit; never resolves after the signal aborts. */
export async function watchDisk(directory: string, maxBytes: number, signal: AbortSignal): Promise<number> {
  // Not during the start: a measurement that waits for the processor would count as a long one.
  await sleep(FIRST_MS, signal);
  for (;;) {
    const startedAt = performance.now();
    const bytes = await occupiedBytes(directory, signal);
    if (signal.aborted) return new Promise(() => undefined);
    if (bytes > maxBytes) return bytes;
    await sleep(pauseAfter(performance.now() - startedAt), signal);
  }
}

/** Milliseconds from the end of a measure that took `measureMs` to the next one. */
export const pauseAfter = (measureMs: number): number =>
  Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, measureMs * PAUSE_PER_MEASURE));
