import { GitFailure } from './git-failure.js';
import { type GitCall, runGit } from './git-process.js';

/** Where a working copy has the commit that was checked out first. No branch or tag, so that no push transfers it. */
export const START_REF = 'HEADRACE_HEAD';

const SOME_NOT_ADDED = 1;

export interface DiffOptions {
  readonly directory: string;
  /** A copy of the index of the repository: it gets the untracked files, and spares git from reading unchanged ones. */
  readonly indexFile: string;
  readonly runAs?: { readonly uid: number; readonly gid: number } | undefined;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** Absolute path of the index, and the commit that was checked out first. Rejects with a GitFailure when there is none. */
export async function findStart({
  directory,
  runAs,
  signal,
}: Pick<DiffOptions, 'directory' | 'runAs' | 'signal'>): Promise<{ readonly index: string; readonly commit: string }> {
  const args = ['rev-parse', '--path-format=absolute', '--git-path', 'index', `${START_REF}^{commit}`];
  const { stdout } = await runGit({ args, cwd: directory, runAs, signal });
  const [index = '', commit = ''] = stdout.toString('utf8').split('\n');
  return { index, commit };
}

/**
 * A patch for `git apply` from the commit that was checked out first to the files of the work tree, committed or not, with
 * untracked files that no rule ignores. Empty: there are no differences. Rejects with a GitFailure.
 */
export async function diffWorkTree({ directory, indexFile, runAs, maxBytes, signal }: DiffOptions): Promise<Buffer> {
  const call = (...args: string[]): GitCall => ({
    args,
    cwd: directory,
    runAs,
    signal,
    environment: { GIT_INDEX_FILE: indexFile },
    // A file that the agent adds outside of a sparse checkout is a change, too.
    config: { 'core.sparseCheckout': 'false' },
  });
  await runGit(call('add', '--intent-to-add', '--ignore-errors', '--', ':/')).catch((error: unknown) => {
    // What cannot be added is left out, such as a nested repository without a commit.
    if (!(error instanceof GitFailure && error.exitCode === SOME_NOT_ADDED)) throw error;
  });
  const format = [
    '--binary',
    '--find-renames',
    '--no-color',
    '--no-ext-diff',
    '--no-textconv',
    '--no-relative',
    '--unified=3',
    '--submodule=short',
  ];
  const diff = call('diff', ...format, '--src-prefix=a/', '--dst-prefix=b/', START_REF, '--', ':/');
  return (await runGit({ ...diff, maxOutputBytes: maxBytes })).stdout;
}
