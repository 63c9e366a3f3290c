import { GitFailure } from './git-failure.js';
import type { GitAnswer } from './git-process.js';
import { COMMIT_ID } from './git-ref.js';

export interface FoundRef {
  /** What to fetch: a full name, or a commit id. */
  readonly name: string;
  readonly oid: string;
}

/**
 * What `ref` is in a repository: a full name, a branch, a tag, or a whole commit id, in this order; the default branch
 * when absent. Asking also proves that the credential still opens it. Rejects with GitFailure `ref_not_found` or `empty`.
 */
export async function findRef(
  ref: string | undefined,
  lsRemote: (patterns: readonly string[]) => Promise<GitAnswer>,
): Promise<FoundRef> {
  const isCommit = ref !== undefined && COMMIT_ID.test(ref);
  const wanted =
    ref === undefined || isCommit || ref === 'HEAD'
      ? ['HEAD']
      : [ref, `refs/heads/${ref}`, `refs/tags/${ref}`, `refs/${ref}`];
  const { refs, target } = parse((await lsRemote(wanted)).stdout.toString('utf8'));
  if (isCommit) return { name: ref, oid: ref };
  for (const name of wanted) {
    const oid = refs.get(name);
    if (oid !== undefined && (name === 'HEAD' || name.startsWith('refs/')))
      return { name: name === 'HEAD' ? (target ?? name) : name, oid };
  }
  if (ref === undefined) throw new GitFailure('empty', 'The repository has no commits, or no default branch.');
  throw new GitFailure('ref_not_found', `The repository has no branch or tag ${ref}.`);
}

/** `oid\tname` lines, and `ref: refs/heads/main\tHEAD` for what HEAD points to. Patterns match the ends of names too. */
function parse(listing: string): { refs: Map<string, string>; target: string | null } {
  const refs = new Map<string, string>();
  let target: string | null = null;
  for (const line of listing.split('\n')) {
    const [first = '', name = ''] = line.split('\t');
    if (first.startsWith('ref: ') && name === 'HEAD') target = first.slice('ref: '.length);
    else if (COMMIT_ID.test(first)) refs.set(name, first);
  }
  return { refs, target };
}
