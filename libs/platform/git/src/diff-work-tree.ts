import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
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
  /** A copy of the index of the repository: it gets the untracked files, and spares git from reading unchanged ones. */
  readonly indexFile: string;
  readonly maxBytes: number;
}

/** Of one call: the end of a turn waits for it. */
const TIMEOUT_MS = 20_000;
const ADDED_WITH_ERRORS = 1;
const REF_IS_MISSING = 1;
/** Git reads and compresses whole files before it prints them. Bytes of all files that differ. */
const MAX_CHANGED_BYTES = 128 * 1_048_576;

/** The commit that was checked out first; null: the directory is not a working copy of {@link checkOut}. Rejects with a GitFailure. */
export async function findStart({ directory, ...process }: WorkTree): Promise<string | null> {
  const args = ['rev-parse', '--verify', '--quiet', `${START_REF}^{commit}`];
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
 * untracked files that no rule ignores. Empty: there are no differences. Git may add the empty object to the repository.
 * Rejects with a GitFailure; its reason is `too_large` when the patch or the files that differ are.
 */
export async function diffWorkTree({
  directory,
  indexFile,
  maxBytes,
  environment,
  ...rest
}: DiffOptions): Promise<Buffer> {
  const call = (...args: string[]): GitCall => ({
    args,
    cwd: directory,
    environment: { ...environment, GIT_INDEX_FILE: indexFile },
    // A file that the agent adds outside of a sparse checkout is a change, too.
    config: { 'core.sparseCheckout': 'false' },
    timeoutMs: TIMEOUT_MS,
    ...rest,
  });
  await runGit(call('add', '--intent-to-add', '--ignore-errors', '--', ':/')).catch((error: unknown) => {
    // What cannot be added is left out, such as a nested repository without a commit.
    if (!(error instanceof GitFailure && error.exitCode === ADDED_WITH_ERRORS)) throw error;
  });
  const between = ['--no-ext-diff', '--no-textconv', '--no-relative', '--ignore-submodules=dirty'];
  const names = call('diff', '--name-only', '-z', '--no-renames', ...between, START_REF, '--', ':/');
  await checkSize(directory, (await runGit({ ...names, maxOutputBytes: maxBytes })).stdout);
  const format = ['--binary', '--find-renames', '--no-color', '--unified=3', '--submodule=short'];
  const prefixes = ['--src-prefix=a/', '--dst-prefix=b/'];
  const diff = call('diff', ...format, ...prefixes, ...between, START_REF, '--', ':/');
  return (await runGit({ ...diff, maxOutputBytes: maxBytes })).stdout;
}

async function checkSize(directory: string, names: Buffer): Promise<void> {
  let bytes = 0;
  for (const name of names.toString('latin1').split('\0').slice(0, -1)) {
    const stats = await lstat(Buffer.from(join(directory, name), 'latin1')).catch(() => null);
    if (stats?.isFile()) bytes += stats.size;
    if (bytes > MAX_CHANGED_BYTES)
      throw new GitFailure('too_large', `The files that differ have more than ${MAX_CHANGED_BYTES} bytes.`);
  }
}
