import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GitFailure } from './git-failure.js';
import { COMMIT_ID } from './git-location.js';
import type { GitResult } from './git-process.js';

/** What a ref of the repository was when it was last fetched. */
export interface FetchedRef {
  readonly commit: string;
  /** `refs/heads/main`, `refs/tags/v1`, or the commit's id. */
  readonly name: string;
}

interface RefRecord extends FetchedRef {
  /** What the other side had under the name; for an annotated tag not the commit. */
  readonly oid: string;
  /** When it was last compared with the other side, in milliseconds of the epoch. */
  readonly at: number;
}

const DIRECTORY = 'headrace';
const keyOf = (ref: string | undefined): string =>
  ref === undefined ? 'default' : createHash('sha256').update(ref).digest('hex').slice(0, 40);

/** The ref of a mirror that keeps what `ref` was. Each asked ref has one, so that shallow fetches do not undo each other. */
export const keptRef = (ref: string | undefined): string => `refs/headrace/${keyOf(ref)}`;

/** null: it was never fetched, or what is known cannot be read. */
export async function readRecord(mirror: string, ref: string | undefined): Promise<RefRecord | null> {
  try {
    return JSON.parse(await readFile(join(mirror, DIRECTORY, `${keyOf(ref)}.json`), 'utf8')) as RefRecord;
  } catch {
    return null;
  }
}

export async function writeRecord(mirror: string, ref: string | undefined, record: RefRecord): Promise<void> {
  const directory = join(mirror, DIRECTORY);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const draft = join(directory, `${randomUUID()}.draft`);
  await writeFile(draft, JSON.stringify(record), { mode: 0o600 });
  await rename(draft, join(directory, `${keyOf(ref)}.json`));
}

interface FoundRef {
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
  lsRemote: (patterns: readonly string[]) => Promise<GitResult>,
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
