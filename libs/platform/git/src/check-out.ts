import { START_REF } from './diff-work-tree.js';
import { FD_URL } from './fd-transport.js';
import { type GitCall, runGit, SHALLOW_FETCH } from './git-process.js';
import { keptRef } from './mirror-refs.js';
import type { Mirror } from './mirror.js';

interface CheckOutOptions {
  /** null: an empty repository, of which there is nothing to check out. */
  readonly mirror: Mirror | null;
  /** As it was asked of the mirror. */
  readonly ref?: string;
  /** What the copy calls its origin. */
  readonly url: string;
  /** The directory that it is made in, of the user's own. */
  readonly parent: string;
  /** Its name in there; may exist and be empty. */
  readonly directory: string;
  /** A directory for `git init --template`; default: none. */
  readonly template?: string | undefined;
  /** Whose it is to be; default: ours. */
  readonly runAs?: { readonly uid: number; readonly gid: number };
  readonly environment?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

const BRANCH = 'refs/heads/';
const TAG = 'refs/tags/';

/**
 * Makes a working copy, shallow and with nothing in it that leads back to the mirror or holds a credential. Every process
 * that writes runs as the user of the agent, because that user may change the directory. Rejects with a GitFailure.
 */
export async function checkOut(options: CheckOutOptions): Promise<void> {
  const { mirror, ref, url, parent, directory, template = '', runAs, environment, signal, timeoutMs } = options;
  const call = (args: readonly string[]): GitCall => ({ args, cwd: parent, runAs, environment, signal, timeoutMs });
  const within = (...args: string[]): GitCall => call(['-C', directory, ...args]);
  const fetched = mirror && (await mirror.describe(ref));
  const branch = fetched?.name.startsWith(BRANCH) ? fetched.name.slice(BRANCH.length) : null;
  await runGit(call(['init', '--quiet', `--template=${template}`, '--initial-branch=main', '--', directory]));
  await runGit(within('remote', 'add', '--', 'origin', url));
  if (!mirror || !fetched) return;

  const local =
    branch !== null
      ? `refs/remotes/origin/${branch}`
      : fetched.name.startsWith(TAG)
        ? fetched.name
        : 'refs/headrace/fetched';
  await mirror.serve(within('fetch', ...SHALLOW_FETCH, '--', FD_URL, `+${keptRef(ref)}:${local}`));
  await runGit(within('update-ref', '--no-deref', START_REF, local));
  if (branch !== null) {
    await runGit(within('checkout', '--quiet', '--force', '--no-recurse-submodules', '-B', branch, '--track', local));
    return;
  }
  await runGit(within('checkout', '--quiet', '--force', '--no-recurse-submodules', '--detach', local));
  if (local === 'refs/headrace/fetched') await runGit(within('update-ref', '-d', local));
}
