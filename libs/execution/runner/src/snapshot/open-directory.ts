import {
  closeSync,
  constants,
  existsSync,
  type Dirent,
  fstatSync,
  fchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** Without /proc, names are resolved from the path of the directory. */
const HAS_PROC = existsSync('/proc/self/fd');
export const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
export const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const NO_FD = -1;

/** Absolute paths of the directories that a snapshot contains. Entries of a snapshot begin with the name of one of them. */
export interface SnapshotPlaces {
  /** Where commands and the agent start. */
  readonly work: string;
  /** Not for the home directory of a user. */
  readonly home?: string;
}

/**
 * An open directory that the agent controls. Names are resolved in the directory itself, like openat(2): the runner may be
 * root, and processes of the agent could replace a directory above by a link at any moment.
 *
 * Names are bytes, one character for each (Latin-1), because names of files need not be UTF-8.
 */
export class OpenDirectory {
  private constructor(
    readonly fd: number,
    private readonly path: string,
    private readonly places: ReadonlyMap<string, string> | null = null,
  ) {}

  /** The path up to the last segment must not be controlled by the agent. */
  static open(path: string): OpenDirectory {
    return OpenDirectory.at(Buffer.from(path, 'utf8').toString('latin1'));
  }

  /** A directory that contains only the places, by their names. It has no file descriptor. */
  static ofPlaces(places: SnapshotPlaces): OpenDirectory {
    const byName = Object.entries(places).map(
      ([name, path]: [string, string]) => [name, Buffer.from(path, 'utf8').toString('latin1')] as const,
    );
    return new OpenDirectory(NO_FD, '', new Map(byName));
  }

  private static at(path: string): OpenDirectory {
    const fd = openSync(Buffer.from(path, 'latin1'), DIRECTORY);
    return new OpenDirectory(fd, HAS_PROC ? `/proc/self/fd/${fd}` : path);
  }

  directory(name: string): OpenDirectory {
    return OpenDirectory.at(this.pathOf(name));
  }

  /** A file descriptor of a regular file, or null for anything else: a link, a pipe, a device. */
  file(name: string): { readonly fd: number; readonly stats: Stats } | null {
    const fd = openSync(this.of(name), FILE);
    const stats = fstatSync(fd);
    if (stats.isFile()) return { fd, stats };
    closeSync(fd);
    return null;
  }

  /** Sorted, so that two scans list in the same order. */
  entries(): Dirent<string>[] {
    const entries = readdirSync(this.of(''), { withFileTypes: true, encoding: 'latin1' });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  stats(name: string): Stats | undefined {
    return lstatSync(this.of(name), { throwIfNoEntry: false });
  }

  link(name: string): string {
    return readlinkSync(this.of(name), { encoding: 'latin1' });
  }

  /** The path of a name, for calls of `node:fs` that must not follow it. */
  of(name: string): Buffer {
    return Buffer.from(name === '' ? this.path : this.pathOf(name), 'latin1');
  }

  close(): void {
    if (this.fd !== NO_FD) closeSync(this.fd);
  }

  private pathOf(name: string): string {
    if (this.places === null) return `${this.path}/${name}`;
    const path = this.places.get(name);
    if (path === undefined) throw new Error(`A workspace has no place with the name ${name}.`);
    return path;
  }
}

/** Opens directories below a root by their path. Neighbours in the order of a walk share the directories above them. */
export class DirectoryPath {
  private readonly stack: { readonly name: string; readonly directory: OpenDirectory }[] = [];

  constructor(private readonly root: OpenDirectory) {}

  /** `key`: segments joined by `/`; empty: the root. The directory is closed by the next call. */
  open(key: string): OpenDirectory {
    const names = key === '' ? [] : key.split('/');
    let same = 0;
    while (same < this.stack.length && this.stack[same]?.name === names[same]) same += 1;
    this.truncate(same);
    for (const name of names.slice(same)) this.stack.push({ name, directory: this.current.directory(name) });
    return this.current;
  }

  close(): void {
    this.truncate(0);
  }

  private get current(): OpenDirectory {
    return this.stack.at(-1)?.directory ?? this.root;
  }

  private truncate(length: number): void {
    for (const { directory } of this.stack.splice(length)) directory.close();
  }
}

/** Those of a workspace of ours. */
export const placesIn = (root: string): SnapshotPlaces => ({ home: join(root, 'home'), work: join(root, 'work') });

/** The path on the disk of a directory with a UTF-8 name. */
export function pathOfKey(places: SnapshotPlaces, key: string): string {
  const path = Buffer.from(key, 'latin1').toString('utf8');
  const end = path.indexOf('/');
  const place = end < 0 ? path : path.slice(0, end);
  return `${places[place as keyof SnapshotPlaces] ?? ''}${path.slice(place.length)}`;
}

/** The path of the directory that contains an entry, and the name of the entry in it. */
export function splitKey(key: string): readonly [directory: string, name: string] {
  const at = key.lastIndexOf('/');
  return at < 0 ? ['', key] : [key.slice(0, at), key.slice(at + 1)];
}

/**
 * Writes a file below a root whose content the agent has made, and the directories above it that are missing. Replaces a
 * file. Throws for a link in the path.
 */
export function writeFileBelow(
  root: string,
  key: string,
  bytes: Uint8Array,
  owner: { readonly uid: number; readonly gid: number } | undefined,
): void {
  const open = OpenDirectory.open(root);
  const path = new DirectoryPath(open);
  try {
    const names = key.split('/');
    const name = names.pop() ?? '';
    let directory = path.open('');
    for (const [index, part] of names.entries()) {
      const isNew = directory.stats(part) === undefined;
      if (isNew) mkdirSync(directory.of(part), 0o700);
      directory = path.open(names.slice(0, index + 1).join('/'));
      // Not by its name, which the agent could give to something else meanwhile.
      if (isNew && owner) fchownSync(directory.fd, owner.uid, owner.gid);
    }
    rmSync(directory.of(name), { force: true });
    const fd = openSync(directory.of(name), NEW_FILE, 0o600);
    try {
      if (owner) fchownSync(fd, owner.uid, owner.gid);
      writeFileSync(fd, bytes);
    } catch (error) {
      rmSync(directory.of(name), { force: true });
      throw error;
    } finally {
      closeSync(fd);
    }
  } finally {
    path.close();
    open.close();
  }
}
