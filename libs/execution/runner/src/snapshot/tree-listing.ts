import { closeSync, constants, existsSync, lstatSync, openSync, readdirSync, statfsSync, type Stats } from 'node:fs';
import { DIRECTORY, DirectoryPath, OpenDirectory, type SnapshotPlaces } from './open-directory.js';

/** Of an entry, as `lstat` returns it. */
export type EntryStats = Pick<
  Stats,
  'mode' | 'ino' | 'size' | 'mtimeMs' | 'ctimeMs' | 'uid' | 'dev' | 'isDirectory' | 'isFile' | 'isSymbolicLink'
>;

/** A directory that is scanned. */
export interface ScannedDirectory {
  /** Sorted by name. */
  entries(): readonly { readonly name: string; isDirectory(): boolean }[];
  stats(name: string): EntryStats | undefined;
  directory(name: string): ScannedDirectory;
  link(name: string): string;
  file(name: string): { readonly fd: number; readonly stats: Stats } | null;
  close(): void;
}

const OPEN_FILES = '/proc/self/fd';
/** The kernel sets times in steps of several milliseconds: what has just changed may change without a new time. */
export const TIME_STEP_MS = 50;
/**
 * Keys of directories of loose objects of git: their files do not change, so the time of the directory is sufficient. Git LFS and
 * git-annex have directories with such names, too, which contain further directories.
 */
export const LOOSE_OBJECTS = /(^|\/)\.git(\/modules\/.+)?(?<!\/(lfs|annex))\/objects\/[0-9a-f]{2}$/;

/**
 * Types of file systems, as in `linux/magic.h`, that give a directory a new time with each new, removed or renamed entry, in
 * steps shorter than TIME_STEP_MS. Others, such as those of object stores, need not.
 */
const FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x794c7630, // overlayfs
  0x01021994, // tmpfs
  0x2fc12fc1, // ZFS
  0xf2f52010, // F2FS
]);

/** Whether the times of directories show that their entries have changed. False also when a place does not exist. */
export function hasDirectoryTimes(places: SnapshotPlaces): boolean {
  try {
    return Object.values<string>({ ...places }).every((path) => FILE_SYSTEMS.has(statfsSync(path).type));
  } catch {
    return false; // the scan reports what is missing
  }
}

/**
 * Lists what is below the places, but for the content of directories of loose objects of git and of the directories with the keys
 * `pruned`. The calls are relative to the working directory of this process, which takes half of the time of a scan that reads
 * each directory by its path; it is restored before anything else can run. Names in directories that have not changed since
 * `earlier` are those of it. Null: not possible here or with the times of this file system, or more than `maxEntries`.
 */
export function listTree(
  places: SnapshotPlaces,
  pruned: ReadonlySet<string>,
  maxEntries: number,
  earlier: TreeListing | null = null,
): TreeListing | null {
  if (!existsSync(OPEN_FILES)) return null;
  let here: number | undefined;
  try {
    if (!hasDirectoryTimes(places)) return null;
    here = openSync('.', constants.O_RDONLY | constants.O_DIRECTORY);
    return new TreeListing(places, pruned, maxEntries, earlier);
  } catch {
    return null;
  } finally {
    if (here !== undefined) leaveFor(here);
  }
}

/** Another user may have made the earlier directory inaccessible meanwhile. */
function leaveFor(fd: number): void {
  try {
    process.chdir(`${OPEN_FILES}/${fd}`);
  } catch {
    process.chdir('/');
  } finally {
    closeSync(fd);
  }
}

/** What {@link listTree} has found. It keeps numbers and names only: objects for all files would keep the garbage collector busy. */
export class TreeListing {
  private readonly names: string[] = [];
  private readonly facts = new Facts();
  /** By the index of their name. */
  private readonly directories = new Map<number, ListedDirectory>();
  /** Of the directories, by key. */
  private readonly indexes = new Map<string, number>();
  private readonly startedAt = Date.now();
  /** Those of the places: another file system that is mounted below may not keep times. */
  private readonly devices = new Set<number>();
  private readonly path: DirectoryPath;
  private readonly top: ListedDirectory;

  /** Throws when a place does not exist, or there are too many entries. */
  constructor(
    places: SnapshotPlaces,
    private readonly pruned: ReadonlySet<string>,
    private readonly maxEntries: number,
    earlier: TreeListing | null,
  ) {
    this.path = new DirectoryPath(OpenDirectory.ofPlaces(places));
    this.top = this.read(places, earlier);
  }

  /** The directory that contains the places. */
  open(): ScannedDirectory {
    return this.top;
  }

  /** Nothing was added, removed or changed in between, and the same directories were not listed. */
  isSame({ names, facts, directories, pruned }: TreeListing): boolean {
    return (
      names.length === this.names.length &&
      facts.equals(this.facts) &&
      names.every((name, index) => name === this.names[index]) &&
      [...directories].every(([index, { from, to }]) => {
        const other = this.directories.get(index);
        return other?.from === from && other.to === to;
      }) &&
      pruned.size === this.pruned.size &&
      [...pruned].every((key) => this.pruned.has(key))
    );
  }

  /** The names in a directory. Null: they may be others now, or are not known. */
  private namesIn(key: string, { ino, mtimeMs, ctimeMs, dev }: EntryStats): readonly string[] | null {
    const index = this.indexes.get(key);
    const directory = index === undefined ? undefined : this.directories.get(index);
    if (index === undefined || directory === undefined) return null;
    const before = this.facts.at(index);
    const isSameDirectory = before.ino === ino && before.dev === dev && this.devices.has(dev);
    const isChanged = before.mtimeMs !== mtimeMs || before.ctimeMs !== ctimeMs;
    if (!isSameDirectory || isChanged || Math.max(mtimeMs, ctimeMs) > this.startedAt - TIME_STEP_MS) return null;
    return this.names.slice(directory.from, directory.to);
  }

  private read(places: SnapshotPlaces, earlier: TreeListing | null): ListedDirectory {
    const sorted = Object.entries<string>({ ...places }).sort();
    const top = this.directory('', 0);
    for (const [name, path] of sorted) {
      const stats = lstatSync(path);
      this.add(name, stats);
      this.devices.add(stats.dev);
    }
    top.to = this.names.length;
    for (const [index, [name, path]] of sorted.entries()) {
      if (!this.facts.isOfType(index, constants.S_IFDIR)) continue;
      const fd = openSync(path, DIRECTORY);
      try {
        this.list(fd, name, index, earlier);
      } finally {
        closeSync(fd);
      }
    }
    return top;
  }

  private list(fd: number, key: string, at: number, earlier: TreeListing | null): void {
    // A directory that cannot be entered is not listed, so that the scan finds the same fault.
    if (!isEntered(fd)) return;
    const directory = this.directory(key, this.names.length);
    const names = earlier?.namesIn(key, this.facts.at(at)) ?? readdirSync('.', BYTES);
    for (const name of names) {
      const stats = lstatSync(pathOf(name), QUIET);
      if (stats) this.add(name, stats);
    }
    directory.to = this.names.length;
    if (directory.to > this.maxEntries) throw new Error('There are too many entries.');
    this.directories.set(at, directory);
    this.indexes.set(key, at);
    for (let index = directory.from; index < directory.to; index += 1) {
      if (!this.facts.isOfType(index, constants.S_IFDIR)) continue;
      const name = this.names[index] ?? '';
      const path = `${key}/${name}`;
      if (this.pruned.has(path) || LOOSE_OBJECTS.test(path)) continue;
      const childFd = openDirectory(`${OPEN_FILES}/${fd}/${name}`);
      if (childFd === null) continue;
      try {
        this.list(childFd, path, index, earlier);
      } finally {
        closeSync(childFd);
      }
    }
  }

  private add(name: string, stats: Stats): void {
    this.facts.set(this.names.length, stats);
    this.names.push(name);
  }

  private directory(key: string, from: number): ListedDirectory {
    return new ListedDirectory(key, from, this.path, this.names, this.facts, this.directories);
  }
}

/** Names are bytes, one character for each. */
const BYTES = { encoding: 'latin1' } as const;
const QUIET = { throwIfNoEntry: false } as const;
/** Numbers for each entry. */
const FIELDS = 7;

const isOfType = (mode: number, type: number): boolean => (mode & constants.S_IFMT) === type;

class ListedStats implements EntryStats {
  constructor(
    readonly mode: number,
    readonly ino: number,
    readonly size: number,
    readonly mtimeMs: number,
    readonly ctimeMs: number,
    readonly uid: number,
    readonly dev: number,
  ) {}

  isDirectory(): boolean {
    return isOfType(this.mode, constants.S_IFDIR);
  }

  isFile(): boolean {
    return isOfType(this.mode, constants.S_IFREG);
  }

  isSymbolicLink(): boolean {
    return isOfType(this.mode, constants.S_IFLNK);
  }
}

/** The numbers of all entries, by the index of the entry. */
class Facts {
  private values = new Float64Array(1024 * FIELDS);
  private count = 0;

  set(index: number, { mode, ino, size, mtimeMs, ctimeMs, uid, dev }: Stats): void {
    const at = index * FIELDS;
    if (at + FIELDS > this.values.length) {
      const larger = new Float64Array(2 * this.values.length);
      larger.set(this.values);
      this.values = larger;
    }
    const { values } = this;
    values[at] = mode;
    values[at + 1] = ino;
    values[at + 2] = size;
    values[at + 3] = mtimeMs;
    values[at + 4] = ctimeMs;
    values[at + 5] = uid;
    values[at + 6] = dev;
    this.count = index + 1;
  }

  at(index: number): EntryStats {
    const at = index * FIELDS;
    const { values } = this;
    return new ListedStats(
      values[at] ?? 0,
      values[at + 1] ?? 0,
      values[at + 2] ?? 0,
      values[at + 3] ?? 0,
      values[at + 4] ?? 0,
      values[at + 5] ?? 0,
      values[at + 6] ?? 0,
    );
  }

  isOfType(index: number, type: number): boolean {
    return isOfType(this.values[index * FIELDS] ?? 0, type);
  }

  equals(other: Facts): boolean {
    return this.bytes().equals(other.bytes());
  }

  private bytes(): Buffer {
    return Buffer.from(this.values.buffer, 0, this.count * FIELDS * Float64Array.BYTES_PER_ELEMENT);
  }
}

const pathOf = (name: string): string | Buffer => (/^[\x20-\x7e]*$/.test(name) ? name : Buffer.from(name, 'latin1'));

function isEntered(fd: number): boolean {
  try {
    process.chdir(`${OPEN_FILES}/${fd}`);
    return true;
  } catch {
    return false;
  }
}

function openDirectory(path: string): number | null {
  try {
    return openSync(pathOf(path), DIRECTORY);
  } catch {
    return null;
  }
}

class ListedDirectory implements ScannedDirectory {
  /** Behind the index of its last entry. */
  to = 0;
  private indexes: ReadonlyMap<string, number> | undefined;

  constructor(
    private readonly key: string,
    /** Index of its first entry. */
    readonly from: number,
    /** For what the listing does not have. */
    private readonly path: DirectoryPath,
    private readonly names: readonly string[],
    private readonly facts: Facts,
    private readonly directories: ReadonlyMap<number, ListedDirectory>,
  ) {}

  entries(): readonly { readonly name: string; isDirectory(): boolean }[] {
    const entries = [...this.byName()].map(([name, index]) => ({
      name,
      isDirectory: () => this.facts.isOfType(index, constants.S_IFDIR),
    }));
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  stats(name: string): EntryStats | undefined {
    const index = this.byName().get(name);
    return index === undefined ? undefined : this.facts.at(index);
  }

  directory(name: string): ScannedDirectory {
    return this.directories.get(this.byName().get(name) ?? -1) ?? this.opened().directory(name);
  }

  link(name: string): string {
    return this.opened().link(name);
  }

  file(name: string): { readonly fd: number; readonly stats: Stats } | null {
    return this.opened().file(name);
  }

  close(): void {
    this.path.close();
  }

  private opened(): OpenDirectory {
    return this.path.open(this.key);
  }

  private byName(): ReadonlyMap<string, number> {
    this.indexes ??= new Map(this.names.slice(this.from, this.to).map((name, index) => [name, this.from + index]));
    return this.indexes;
  }
}
