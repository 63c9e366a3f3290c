import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  ftruncateSync,
  futimesSync,
  lchownSync,
  mkdirSync,
  openSync,
  readFileSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  decodeBlock,
  type Extent,
  keyOf,
  partOf,
  SnapshotDamagedError,
  type SnapshotDirectory,
  type SnapshotEntry,
  type SnapshotFile,
  type SnapshotLink,
  type SnapshotManifest,
  targetOf,
} from '#execution/runner-protocol';
import type { RunAs } from '../workspace/workspace.js';
import { DirectoryPath, NEW_FILE, OpenDirectory, type SnapshotPlaces, splitKey } from './open-directory.js';
import { displayed } from './scan-workspace.js';

/** `.git` of a worktree, and its counterpart in the repository, which may be a bare one. */
const POINTER = /\/(\.git|worktrees\/[^/]+\/gitdir)$/;
const MAX_POINTER_BYTES = 8192;
const OWNER_ONLY = 0o700;
const CONCURRENT_PACKS = 4;
const EXISTING_FILE = constants.O_WRONLY | constants.O_NOFOLLOW;
const MAX_PROBLEMS = 20;

export interface RestoreOptions {
  /** Entries of other places are not restored. The agent has not been started, so that no process changes them meanwhile. */
  readonly places: SnapshotPlaces;
  /** The places themselves keep their permissions. */
  readonly keepsPlaces?: boolean;
  readonly runAs?: RunAs | undefined;
  readonly manifest: SnapshotManifest;
  /** Null: it is not stored any more. */
  readonly getPack: (packId: string) => Promise<Buffer | null>;
  readonly signal: AbortSignal;
}

/** A part of a file: its number, the position in the file, and where the content is. */
interface Placement {
  readonly file: number;
  readonly at: number;
  readonly extent: Extent;
}

export interface RestoredWorkspace {
  /** Files, directories and links. */
  readonly entries: number;
  /** Of all files. */
  readonly bytes: number;
  /** What could not be created, a sentence each. */
  readonly problems: readonly string[];
}

/** Creates what a snapshot contains. What exists already is kept. Rejects with SnapshotDamagedError. */
export async function restoreWorkspace(options: RestoreOptions): Promise<RestoredWorkspace> {
  const entries = entriesOf(options);
  const bytes = entries.reduce((sum, entry) => sum + (entry.type === 'file' ? entry.size : 0), 0);
  const restoration = new Restoration(options, entries);
  try {
    await restoration.run();
    return { entries: entries.length - restoration.failures, bytes, problems: restoration.problems };
  } finally {
    restoration.close();
  }
}

/** Whether a restore may write another path into it. */
export const isWorktreePointer = (key: string): boolean => POINTER.test(`/${key}`);

/** It is created with its content, and not before. */
const isWhole = ({ content }: SnapshotFile): boolean => content.length === 1;

function writeAll(fd: number, bytes: Buffer, position: number): void {
  for (let written = 0; written < bytes.length;)
    written += writeSync(fd, bytes, written, bytes.length - written, position + written);
}

/** Those of the given places. */
function entriesOf({ places, manifest }: RestoreOptions): readonly SnapshotEntry[] {
  const isGiven = ({ path }: SnapshotEntry): boolean => Object.keys(places).includes(path.split('/', 1)[0] ?? '');
  return manifest.entries.filter(isGiven);
}

/** Places that were at another path when the snapshot was taken: beginnings of paths, one character for each byte. */
function movesOf({ places, manifest: { header } }: RestoreOptions): readonly (readonly [string, string])[] {
  const before: Readonly<Record<string, string>> = {
    work: header.work_dir ?? join(header.root, 'work'),
    home: join(header.root, 'home'),
  };
  const prefix = (path: string): string => Buffer.from(`${path}/`, 'utf8').toString('latin1');
  return Object.entries(places).flatMap(([name, to]: [string, string]) => {
    const from = before[name];
    return from === undefined || from === to ? [] : [[prefix(from), prefix(to)] as const];
  });
}

class Restoration {
  readonly problems: string[] = [];
  /** Entries that were not restored. */
  failures = 0;
  private readonly path: DirectoryPath;
  private readonly directories: SnapshotDirectory[] = [];
  private readonly files: (SnapshotFile | null)[] = [];
  private readonly links: SnapshotLink[] = [];
  private readonly moves: readonly (readonly [from: string, to: string])[];

  constructor(
    private readonly options: RestoreOptions,
    entries: readonly SnapshotEntry[],
  ) {
    this.path = new DirectoryPath(OpenDirectory.ofPlaces(options.places));
    this.moves = movesOf(options);
    for (const entry of entries) {
      if (entry.type === 'directory') this.directories.push(entry);
      else if (entry.type === 'file') this.files.push(entry);
      else this.links.push(entry);
    }
  }

  async run(): Promise<void> {
    for (const entry of this.directories) this.attempt(keyOf(entry), () => this.makeDirectory(keyOf(entry)));
    for (const [index, file] of this.files.entries())
      if (file && !isWhole(file) && !this.attempt(keyOf(file), () => this.makeFile(keyOf(file))))
        this.files[index] = null;
    await this.writeContents();
    for (const file of this.files) if (file && !isWhole(file)) this.attempt(keyOf(file), () => this.finishFile(file));
    for (const file of this.files) if (file) this.attempt(keyOf(file), () => this.relocate(file));
    for (const link of this.links) this.attempt(keyOf(link), () => this.makeLink(link));
    // The deepest first: a directory without permission to write must be complete by then.
    for (const entry of this.directories.toReversed()) this.attempt(keyOf(entry), () => this.finishDirectory(entry));
  }

  close(): void {
    this.path.close();
  }

  /** False when it failed for a reason that concerns this entry alone. */
  private attempt(key: string, work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined || code === 'ENOSPC' || code === 'EDQUOT' || code === 'EROFS' || code === 'EIO')
        throw error;
      // What the runner has placed is newer, such as the transcript.
      if (code === 'EEXIST' && key.startsWith('home/')) return false;
      const reason = code === 'EEXIST' ? 'it exists already' : code;
      this.failures += 1;
      if (this.problems.length < MAX_PROBLEMS) this.problems.push(`${displayed(key)} was not restored: ${reason}.`);
      return false;
    }
  }

  private makeDirectory(key: string): void {
    const { directory, name } = this.parentOf(key);
    try {
      mkdirSync(directory.of(name), OWNER_ONLY);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !directory.stats(name)?.isDirectory()) throw error;
    }
  }

  private makeFile(key: string): void {
    this.inFile(key, NEW_FILE, () => undefined);
  }

  private makeLink(link: SnapshotLink): void {
    const { directory, name } = this.parentOf(keyOf(link));
    symlinkSync(targetOf(link), directory.of(name));
    const { runAs } = this.options;
    if (runAs) lchownSync(directory.of(name), runAs.uid, runAs.gid);
  }

  /** By pack, so that each one is read once and not kept. */
  private async writeContents(): Promise<void> {
    const { header } = this.options.manifest;
    const placements = header.packs.map((): Placement[] => []);
    for (const [file, entry] of this.files.entries()) {
      let at = 0;
      for (const extent of entry?.content ?? []) {
        placements[extent[0]]?.push({ file, at, extent });
        at += extent[4];
      }
    }
    const queue = [...placements.entries()].filter(([, parts]) => parts.length > 0);
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const [pack, parts] = next;
        await this.writePack(header.packs[pack] ?? '', parts);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT_PACKS }, work));
  }

  private async writePack(packId: string, parts: Placement[]): Promise<void> {
    this.options.signal.throwIfAborted();
    const pack = await this.options.getPack(packId);
    if (pack === null) throw new SnapshotDamagedError('A part of the snapshot is not stored any more.');
    parts.sort((a, b) => a.extent[1] - b.extent[1]);
    let at = -1;
    let block: Buffer = Buffer.alloc(0);
    for (const { file, at: position, extent } of parts) {
      const [, offset, stored, from, length] = extent;
      if (offset !== at) block = await decodeBlock(pack, offset, stored);
      at = offset;
      const entry = this.files[file];
      const bytes = partOf(block, from, length);
      if (entry && !isWhole(entry)) this.write(keyOf(entry), bytes, position);
      else if (entry && !this.attempt(keyOf(entry), () => this.makeWholeFile(entry, bytes))) this.files[file] = null;
    }
  }

  private write(key: string, bytes: Buffer, position: number): void {
    this.inFile(key, EXISTING_FILE, (fd) => writeAll(fd, bytes, position));
  }

  private finishFile(file: SnapshotFile): void {
    this.inFile(keyOf(file), EXISTING_FILE, (fd) => this.setAttributes(fd, file));
  }

  private makeWholeFile(file: SnapshotFile, bytes: Buffer): void {
    this.inFile(keyOf(file), NEW_FILE, (fd) => {
      writeAll(fd, bytes, 0);
      this.setAttributes(fd, file);
    });
  }

  private setAttributes(fd: number, { mode, mtime }: SnapshotFile): void {
    const { runAs } = this.options;
    if (runAs) fchownSync(fd, runAs.uid, runAs.gid);
    fchmodSync(fd, mode);
    futimesSync(fd, mtime / 1000, mtime / 1000);
  }

  private inFile(key: string, flags: number, work: (fd: number) => void): void {
    const { directory, name } = this.parentOf(key);
    const fd = openSync(directory.of(name), flags, 0o600);
    try {
      work(fd);
    } finally {
      closeSync(fd);
    }
  }

  /** Worktrees of git name each other by absolute paths. */
  private relocate(file: SnapshotFile): void {
    const key = keyOf(file);
    if (this.moves.length === 0 || file.size > MAX_POINTER_BYTES || !isWorktreePointer(key)) return;
    const { directory, name } = this.parentOf(key);
    const fd = openSync(directory.of(name), constants.O_RDWR | constants.O_NOFOLLOW);
    try {
      const text = readFileSync(fd, 'latin1');
      const at = text.startsWith('gitdir: ') ? 8 : 0;
      const move = this.moves.find(([from]) => text.startsWith(from, at));
      if (move === undefined) return;
      const [from, to] = move;
      ftruncateSync(fd, 0);
      writeSync(fd, Buffer.from(`${text.slice(0, at)}${to}${text.slice(at + from.length)}`, 'latin1'), 0, null, 0);
      futimesSync(fd, file.mtime / 1000, file.mtime / 1000);
    } finally {
      closeSync(fd);
    }
  }

  private finishDirectory({ mode, ...entry }: SnapshotDirectory): void {
    const { runAs, keepsPlaces } = this.options;
    if (keepsPlaces === true && !entry.path.includes('/')) return;
    const { fd } = this.path.open(keyOf(entry));
    if (runAs) fchownSync(fd, runAs.uid, runAs.gid);
    fchmodSync(fd, mode);
  }

  private parentOf(key: string): { readonly directory: OpenDirectory; readonly name: string } {
    const [directory, name] = splitKey(key);
    return { directory: this.path.open(directory), name };
  }
}
