import { constants } from 'node:fs';
import { access, lstat } from 'node:fs/promises';
import { GitFailure } from './git-failure.js';
import { type GitCall, runGit } from './git-process.js';

/** Where a working copy has the commit that was checked out first. No branch or tag, so that no push transfers it. */
export const START_REF = 'HEADRACE_HEAD';

export interface WorkTree {
  readonly directory: string;
  readonly runAs?: { readonly uid: number; readonly gid: number } | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
  readonly signal: AbortSignal;
}

export interface DiffOptions extends WorkTree {
  /** As {@link findStart} returns it. */
  readonly start: string;
  /**
   * A copy of the index of the repository: it gets the names of untracked files, and spares git from reading unchanged ones.
   * Without a file there: ignored files are compared if they are part of the start.
   */
  readonly indexFile: string;
  readonly maxBytes: number;
}

export interface WorkTreeDiff {
  readonly patch: Buffer;
  /** Files that the user of the process may not read. The patch does not contain them. */
  readonly unreadable: readonly string[];
}

/** Of one call: the end of a turn waits for it. */
const TIMEOUT_MS = 20_000;
const ADDED_WITH_ERRORS = 1;
const REF_IS_MISSING = 1;
/** Git reads and compresses whole files before it prints them. Bytes of all files that differ. */
const MAX_CHANGED_BYTES = 128 * 1_048_576;
const MAX_CHANGED_FILES = 100_000;
const MAX_NAMES_BYTES = 64 * 1_048_576;
/** Each is an argument of git. */
const MAX_UNREADABLE = 100;

/** The commit that was checked out first; null: the directory is not a working copy of {@link checkOut}. Rejects with a GitFailure. */
export async function findStart({ directory, ...process }: WorkTree): Promise<string | null> {
  // Not whether the commit still exists, which the diff finds out.
  const args = ['rev-parse', '--verify', '--quiet', START_REF];
  if (!(await lstat(directory).catch(() => null))?.isDirectory()) return null;
  try {
    return (await runGit({ args, cwd: directory, timeoutMs: TIMEOUT_MS, ...process })).stdout.toString('utf8').trim();
  } catch (error) {
    const isMissing =
      error instanceof GitFailure && (error.exitCode === REF_IS_MISSING || error.reason === 'not_found');
    if (isMissing) return null;
    throw error;
  }
}

/**
 * A patch for `git apply` from the commit that was checked out first to the files of the work tree, committed or not, with
 * untracked files that no rule ignores. Empty: there are no differences. Writes nothing to the repository. Rejects with a
 * GitFailure; its reason is `too_large` when the patch or the files that differ are.
 */
export async function diffWorkTree(options: DiffOptions): Promise<WorkTreeDiff> {
  const { directory, start, indexFile, maxBytes, signal } = options;
  const call = callOf(options);
  if (!(await lstat(indexFile).catch(() => null))) await runGit(call(['read-tree', start]));
  await addUntracked(options);
  const between = ['--no-ext-diff', '--no-textconv', '--no-relative', '--ignore-submodules=dirty', '-O/dev/null'];
  const names = call(['diff', '--name-only', '-z', '--no-renames', ...between, start, '--', ':/']);
  const { stdout: changed } = await runGit({ ...names, maxOutputBytes: maxBytes });
  const unreadable = await checkFiles(directory, splitNames(changed), signal, options.runAs);
  const format = ['--binary', '--find-renames', '--no-color', '--unified=3', '--submodule=short'];
  const prefixes = ['--src-prefix=a/', '--dst-prefix=b/'];
  const readable = [':/', ...unreadable.map((name) => `:(top,exclude,literal)${name}`)];
  const diff = call(['diff', ...format, ...prefixes, ...between, start, '--', ...readable]);
  return { patch: (await runGit({ ...diff, maxOutputBytes: maxBytes })).stdout, unreadable };
}

const callOf =
  ({ directory, indexFile, environment, start: _start, maxBytes: _maxBytes, ...rest }: DiffOptions) =>
  (args: readonly string[], input?: string | Buffer): GitCall => ({
    args,
    cwd: directory,
    environment: { ...environment, GIT_INDEX_FILE: indexFile, GIT_WORK_TREE: directory },
    config: {
      // Files that exist outside of a sparse checkout are compared, too.
      'core.sparseCheckout': 'true',
      'sparse.expectFilesOutsideOfPatterns': 'false',
      'index.sparse': 'false',
      // The second file of such an index would be in the repository.
      'core.splitIndex': 'false',
      // Names that are not valid on other systems are names of files here.
      'core.protectNTFS': 'false',
      'core.protectHFS': 'false',
    },
    timeoutMs: TIMEOUT_MS,
    ...(input === undefined ? {} : { input }),
    ...rest,
  });

/**
 * Adds untracked files to the index as files whose content differs. `git add --intent-to-add` would write an object to the
 * repository, or a new time of it, and snapshots would differ.
 */
async function addUntracked(options: DiffOptions): Promise<void> {
  const call = callOf(options);
  const list = call(['ls-files', '-z', '--others', '--exclude-standard', '--', ':/']);
  const { stdout } = await runGit({ ...list, maxOutputBytes: MAX_NAMES_BYTES });
  if (stdout.length === 0) return;
  const names = splitNames(stdout);
  // Any object id will do: git compares the file, because the entry has no time.
  const entries = names
    .filter((name) => !name.endsWith('/'))
    .map((name) => `100644 ${options.start}\t${name}\0`)
    .join('');
  if (entries !== '')
    await runGit(call(['update-index', '-z', '--add', '--replace', '--index-info'], Buffer.from(entries, 'latin1')));
  const nested = names.filter((name) => name.endsWith('/'));
  if (nested.length === 0) return;
  const pathspecs = Buffer.from(nested.map((name) => `:(top,literal)${name}`).join('\0'), 'latin1');
  const from = ['--pathspec-from-file=-', '--pathspec-file-nul'];
  await runGit(call(['add', '--intent-to-add', '--ignore-errors', ...from], pathspecs)).catch((error: unknown) => {
    // What cannot be added is left out, such as a nested repository without a commit.
    if (!(error instanceof GitFailure && error.exitCode === ADDED_WITH_ERRORS)) throw error;
  });
}

/** In latin1, which keeps every byte. */
const splitNames = (output: Buffer): string[] => output.toString('latin1').split('\0').slice(0, -1);

/** Names of the files that cannot be read. */
async function checkFiles(
  directory: string,
  names: readonly string[],
  signal: AbortSignal,
  runAs: WorkTree['runAs'],
): Promise<string[]> {
  if (names.length > MAX_CHANGED_FILES)
    throw new GitFailure('too_large', `More than ${MAX_CHANGED_FILES} files differ.`);
  const unreadable: string[] = [];
  let bytes = 0;
  for (const name of names) {
    if (signal.aborted) throw new GitFailure('aborted', 'git was stopped.');
    const path = Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name, 'latin1')]);
    const stats = await lstat(path).catch(() => null);
    if (!stats?.isFile()) continue;
    bytes += stats.size;
    if (bytes > MAX_CHANGED_BYTES)
      throw new GitFailure('too_large', `The files that differ have more than ${MAX_CHANGED_BYTES} bytes.`);
    const isReadable = runAs ? mayRead(stats, runAs) : await access(path, constants.R_OK).then(...BOOLEAN);
    if (!isReadable) unreadable.push(Buffer.from(name, 'latin1').toString('utf8'));
  }
  if (unreadable.length > MAX_UNREADABLE)
    throw new GitFailure('failed', `${unreadable.length} files of it cannot be read.`);
  return unreadable;
}

const BOOLEAN = [() => true, () => false] as const;

type Identity = { readonly uid: number; readonly gid: number };

/** Of a user without other groups. */
function mayRead({ mode, uid, gid }: Identity & { readonly mode: number }, user: Identity): boolean {
  const permission = uid === user.uid ? constants.S_IRUSR : gid === user.gid ? constants.S_IRGRP : constants.S_IROTH;
  return user.uid === 0 || (mode & permission) !== 0;
}
