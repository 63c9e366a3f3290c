import { keyOf, type SnapshotEntry, type SnapshotFile, type SnapshotManifest } from '#execution/runner-protocol';

export const FILE_CHANGES = ['added', 'modified', 'deleted', 'renamed'] as const;

export interface FileChange {
  readonly change: (typeof FILE_CHANGES)[number];
  /** Of a renamed and of a modified entry both are present. Directories are not listed. */
  readonly before?: Exclude<SnapshotEntry, { type: 'directory' }>;
  readonly after?: Exclude<SnapshotEntry, { type: 'directory' }>;
}

/** What people look at: the working directory without the files of git. */
const isShown = (entry: SnapshotEntry): entry is Exclude<SnapshotEntry, { type: 'directory' }> =>
  entry.type !== 'directory' && entry.path.startsWith('work/') && !/\/\.git(\/|$)/.test(entry.path);

/** Files and links that differ, in the order of their paths. `before` null: an empty workspace. */
export function changesBetween(before: SnapshotManifest | null, after: SnapshotManifest): FileChange[] {
  const old = new Map((before?.entries ?? []).filter(isShown).map((entry) => [keyOf(entry), entry]));
  const changes: FileChange[] = [];
  for (const entry of after.entries.filter(isShown)) {
    const key = keyOf(entry);
    const earlier = old.get(key);
    old.delete(key);
    if (earlier === undefined) changes.push({ change: 'added', after: entry });
    else if (!isSame(earlier, entry)) changes.push({ change: 'modified', before: earlier, after: entry });
  }
  return paired(changes, [...old.values()]).sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1));
}

/** An added file with the content of a deleted one was renamed. Empty files are too many of the same. */
function paired(changes: readonly FileChange[], deleted: readonly NonNullable<FileChange['before']>[]): FileChange[] {
  const byHash = new Map<string, SnapshotFile>();
  for (const entry of deleted) if (entry.type === 'file' && entry.size > 0) byHash.set(entry.hash, entry);
  const moved = new Set<unknown>();
  const result = changes.map((change): FileChange => {
    const { after } = change;
    const before = change.change === 'added' && after?.type === 'file' ? byHash.get(after.hash) : undefined;
    if (!before || moved.has(before)) return change;
    moved.add(before);
    return { change: 'renamed', before, after };
  });
  const gone = deleted.filter((entry) => !moved.has(entry));
  return [...result, ...gone.map((before): FileChange => ({ change: 'deleted', before }))];
}

export const pathOf = ({ before, after }: FileChange): string => (after ?? before)?.path ?? '';

function isSame(a: NonNullable<FileChange['before']>, b: NonNullable<FileChange['before']>): boolean {
  if (a.type === 'link') return b.type === 'link' && a.target === b.target;
  return b.type === 'file' && a.hash === b.hash && a.mode === b.mode;
}
