import { createHash } from 'node:crypto';
import { closeSync, read, readSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { newUuid } from '#platform/kernel';
import {
  type Extent,
  MAX_BLOCK_BYTES,
  SNAPSHOT_VERSION,
  keyOf,
  type SnapshotFile,
  type SnapshotLimits,
  type SnapshotManifest,
  type SnapshotReason,
} from '#execution/runner-protocol';
import type { RunAs } from '../workspace/workspace.js';
import { ignoredPaths } from './ignore-rules.js';
import { lineOf, ManifestEncoder, type ManifestLine, textOf } from './manifest-encoder.js';
import { DirectoryPath, OpenDirectory, pathOfKey, type SnapshotPlaces, splitKey } from './open-directory.js';
import { PackWriter, type Part } from './pack-writer.js';
import { isWorktreePointer } from './restore-workspace.js';
import {
  displayed,
  type ObjectDirectories,
  type Scan,
  type ScannedEntry,
  type ScannedFile,
  type ScanOptions,
  scanWorkspace,
} from './scan-workspace.js';
import { hasDirectoryTimes, listTree, TIME_STEP_MS, type TreeListing } from './tree-listing.js';

const readFile = promisify(read);

/** Files up to this size are read at once, and not stored when their content is stored already. */
const SMALL_FILE_BYTES = MAX_BLOCK_BYTES;
const MAX_PROBLEMS = 20;
/** Repositories whose ignored files are read while the files are listed. */
const MAX_EARLY = 4;

/** Stores what a snapshot consists of. */
export interface SnapshotStore {
  /**
   * Stores it now, or together with the next manifest. Rejects when it is not stored. The memory of `content` is used again
   * afterwards.
   */
  putPack(packId: string, content: readonly Buffer[]): Promise<void>;
  /** Stores the gzipped manifest, with the packs that are not stored yet. Resolves with the id of the snapshot. */
  putManifest(manifest: Buffer, summary: SnapshotSummary): Promise<string>;
}

export interface SnapshotSummary {
  readonly reason: SnapshotReason;
  readonly entries: number;
  /** Of all files. */
  readonly bytes: number;
  /** Sent for this snapshot. */
  readonly storedBytes: number;
  /** What is missing in it, a sentence each. */
  readonly problems: readonly string[];
}

export interface SnapshotOptions {
  readonly places: SnapshotPlaces;
  readonly runAs?: RunAs | undefined;
  readonly limits: SnapshotLimits;
  readonly store: SnapshotStore;
}

/** The snapshot does not fit. The message is for people. */
export class SnapshotTooLargeError extends Error {}

interface Content {
  readonly hash: string;
  readonly size: number;
  /** Each part with the id of its pack. */
  readonly parts: readonly { readonly packId: string; readonly part: Part }[];
}

interface KnownFile {
  readonly version: string;
  readonly content: Content;
  /** Its line in manifests, once it was in one. */
  line?: ManifestLine;
}

/**
 * Takes snapshots of a workspace, one at a time. Content that an earlier snapshot contains is not sent again, also when it
 * is at another path now.
 */
export class WorkspaceSnapshots {
  /** By key. */
  private readonly known = new Map<string, KnownFile>();
  /** By hash: content that is stored. */
  private readonly contents = new Map<string, Content>();
  /** As `contents`, of the snapshot that is taken now. */
  private readonly pending = new Map<string, Content>();
  /** What the last stored snapshot contains. */
  private last: readonly ScannedEntry[] = [];
  private lastDigest = '';
  private readonly manifests = new ManifestEncoder();
  /** Ids of packs, by which manifests number them: the same in all manifests, so that lines of files do not change. */
  private packs = new Map<string, number>();
  private readonly objects: ObjectDirectories = new Map();
  /** With which `last` was made; null: it is not known, or files have changed since without a new time. */
  private listing: TreeListing | null = null;
  /** What the next listing does not have to read again. */
  private lastListing: TreeListing | null = null;
  /** What the next scan needs of the last one. */
  private lastScan: Pick<Scan, 'excludedDirectories' | 'isPartial' | 'repositories'> | null = null;
  /** For the content of one small file. */
  private scratch = Buffer.alloc(0);
  /** The last scan has found changes: the next one will probably, too. */
  private isChanging = false;

  constructor(private readonly options: SnapshotOptions) {}

  /** The workspace was restored from this snapshot: its content is stored already. */
  async adopt({ header, entries }: SnapshotManifest): Promise<void> {
    for (const packId of header.packs) this.packs.set(packId, this.packs.size);
    const stored = new Map<string, SnapshotFile & { readonly known: Content }>();
    for (const entry of entries) {
      if (entry.type !== 'file') continue;
      const { hash, size } = entry;
      const parts = entry.content.map((part) => ({ packId: header.packs[part[0]] ?? '', part }));
      const known = { hash, size, parts };
      this.contents.set(hash, known);
      stored.set(keyOf(entry), { ...entry, known });
    }
    const scan = await this.scan();
    for (const entry of scan.entries) {
      if (entry.type !== 'file') continue;
      const { key, version, size, mtime } = entry;
      // It has the path of this workspace now, which may be as long as the one before.
      if (isWorktreePointer(key)) continue;
      const same = stored.get(key);
      if (same && same.size === size && same.mtime === mtime) this.known.set(key, { version, content: same.known });
    }
    this.lastDigest = this.manifests.encode(JSON.stringify(header), entries.map(lineOf)).digest;
  }

  /**
   * Null when nothing has changed since the last one. Rejects when it is not stored; the last one stays. `onRead` is called
   * when the files have been read.
   */
  async create(
    reason: SnapshotReason,
    onRead: () => void = () => undefined,
  ): Promise<(SnapshotSummary & { readonly snapshotId: string }) | null> {
    const { limits, store } = this.options;
    const startedAt = Date.now();
    // Other processes, which work while the files are listed.
    const ignored = this.isChanging ? this.readIgnored() : undefined;
    const listing = this.list();
    this.isChanging = listing === null || this.listing?.isSame(listing) !== true;
    if (!this.isChanging) return null;
    const scan = await this.scan(listing, ignored);
    this.isChanging = !isSame(scan.entries, this.last);
    if (!this.isChanging) {
      this.listing = scan.hasNewObjects ? null : listing;
      return null;
    }
    const { bytes, known, changed } = this.compare(scan.entries);
    if (bytes > limits.max_bytes)
      throw new SnapshotTooLargeError(
        `The files of the workspace have ${bytes} bytes; the limit is ${limits.max_bytes}.`,
      );
    const problems = [...scan.problems];
    try {
      const found = await this.storeContents([...changed.values()], (problem) => {
        if (problems.length < MAX_PROBLEMS) problems.push(problem);
      });
      onRead();
      for (const [index, { key, version }] of changed) {
        const content = found.contents.get(key) ?? this.known.get(key)?.content;
        if (content) known[index] = { version, content };
      }
      // Not before they are stored: the header of a manifest names all of them.
      const packs = new Map(this.packs);
      const { header, lines } = describe(scan, known, packs);
      const { work } = this.options.places;
      const root = dirname(work);
      const paths = { root, ...(work === join(root, 'work') ? {} : { work_dir: work }) };
      const headerText = JSON.stringify({ ...header, problems, excluded: scan.excluded, ...paths });
      const encoded = this.manifests.encode(headerText, lines);
      // While the packs are sent. The last snapshot of a session is often the same as the one of its last turn.
      const [manifest] = await Promise.all([
        encoded.digest === this.lastDigest ? null : encoded.compress(),
        found.sent,
      ]);
      this.packs = packs;
      for (const [hash, content] of this.pending) this.contents.set(hash, content);
      if (manifest === null) {
        this.remember(scan, known, changed, startedAt, listing);
        return null;
      }
      const summary: SnapshotSummary = {
        reason,
        entries: lines.length,
        bytes: header.bytes,
        storedBytes: found.storedBytes + manifest.length,
        problems,
      };
      const snapshotId = await store.putManifest(manifest, summary);
      this.lastDigest = encoded.digest;
      this.remember(scan, known, changed, startedAt, listing);
      return { ...summary, snapshotId };
    } finally {
      this.pending.clear();
    }
  }

  /** Whether the snapshots may lack files that no repository ignores. */
  get isPartial(): boolean {
    return this.lastScan?.isPartial !== false;
  }

  /** With the last snapshot. `known`: by the index of the entry; `changed`: files that are not known, by their index. */
  private compare(entries: readonly ScannedEntry[]) {
    const known: (KnownFile | undefined)[] = [];
    const changed = new Map<number, ScannedFile>();
    let bytes = 0;
    for (const [index, entry] of entries.entries()) {
      if (entry.type !== 'file') continue;
      bytes += entry.size;
      const before = this.known.get(entry.key);
      if (before?.version === entry.version) known[index] = before;
      else changed.set(index, entry);
    }
    return { bytes, known, changed };
  }

  /** Null: before the first scan it is not known which directories are large and excluded. */
  private list(): TreeListing | null {
    const { places, limits } = this.options;
    const { lastScan, lastListing } = this;
    this.lastListing = lastScan && listTree(places, lastScan.excludedDirectories, limits.max_entries, lastListing);
    return this.lastListing;
  }

  private readIgnored(): ReadonlyMap<string, Promise<ReadonlySet<string> | null>> {
    const { places, runAs } = this.options;
    const read = async (key: string): Promise<ReadonlySet<string> | null> => {
      let isKnown = true;
      const ignored = await ignoredPaths(pathOfKey(places, key), runAs, () => (isKnown = false));
      return isKnown ? ignored : null;
    };
    // A failure is not the one of a scan, which reads them again.
    const repositories = this.lastScan?.repositories ?? [];
    return new Map(repositories.slice(0, MAX_EARLY).map((key) => [key, read(key).catch(() => null)]));
  }

  private async scan(listing: TreeListing | null = null, ignored?: ScanOptions['ignored']): Promise<Scan> {
    const { places, runAs, limits } = this.options;
    const objects = hasDirectoryTimes(places) ? this.objects : undefined;
    const scan = await scanWorkspace({ places, runAs, maxEntries: limits.max_entries, objects, listing, ignored });
    const { excludedDirectories, isPartial, repositories } = scan;
    this.lastScan = { excludedDirectories, isPartial, repositories };
    return scan;
  }

  private remember(
    { entries, hasNewObjects }: Scan,
    known: readonly (KnownFile | undefined)[],
    changed: ReadonlyMap<number, ScannedFile>,
    startedAt: number,
    listing: TreeListing | null,
  ): void {
    for (const [index, { key }] of changed) {
      const file = known[index];
      if (file) this.known.set(key, file);
      else this.known.delete(key);
    }
    // What may have changed since without a new time is looked at again.
    const unsettled = entries.filter((entry) => entry.type === 'file' && entry.changedAt >= startedAt - TIME_STEP_MS);
    for (const { key } of unsettled) this.known.delete(key);
    if (this.known.size > entries.length) this.forgetRemoved(entries);
    const isAllSettled = unsettled.length === 0;
    this.last = isAllSettled ? entries : [];
    this.listing = isAllSettled && !hasNewObjects ? listing : null;
  }

  private forgetRemoved(entries: readonly ScannedEntry[]): void {
    const keys = new Set(entries.map(({ key }) => key));
    for (const key of this.known.keys()) if (!keys.has(key)) this.known.delete(key);
  }

  /**
   * Sends content that is not stored yet; it is stored when `sent` resolves. A file that cannot be read is a problem, and is left
   * out.
   */
  private async storeContents(files: readonly ScannedFile[], report: (problem: string) => void) {
    const { store, places } = this.options;
    const packIds: string[] = [];
    const packId = (pack: number): string => (packIds[pack] ??= newUuid());
    const writer = new PackWriter((pack, content) => store.putPack(packId(pack), content));
    const contents = new Map<string, Content>();
    const path = new DirectoryPath(OpenDirectory.ofPlaces(places));
    try {
      for (const { key } of files) {
        const content = await this.storeFile(path, key, writer, packId, report);
        if (content === null) continue;
        contents.set(key, content);
        // Not before the end: the packs may be rejected.
        if (!this.contents.has(content.hash)) this.pending.set(content.hash, content);
      }
      await writer.end();
    } finally {
      path.close();
    }
    return { contents, storedBytes: writer.storedBytes, sent: writer.sent };
  }

  private async storeFile(
    path: DirectoryPath,
    key: string,
    writer: PackWriter,
    packId: (pack: number) => string,
    report: (problem: string) => void,
  ): Promise<Content | null> {
    const [directory, name] = splitKey(key);
    let file;
    try {
      file = path.open(directory).file(name);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // It was removed or replaced meanwhile.
      if (code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'ELOOP')
        report(`${displayed(key)} is not in the snapshot: it cannot be read (${code ?? 'unknown error'}).`);
      return null;
    }
    if (file === null) return null;
    try {
      return file.stats.size <= SMALL_FILE_BYTES
        ? await this.storeSmall(file.fd, file.stats.size, writer, packId)
        : await this.storeLarge(file.fd, writer, packId);
    } catch (error) {
      const { code, syscall } = error as NodeJS.ErrnoException;
      if (syscall !== 'read') throw error;
      report(`${displayed(key)} is not in the snapshot: it cannot be read (${code ?? 'unknown error'}).`);
      return null;
    } finally {
      closeSync(file.fd);
    }
  }

  private async storeSmall(fd: number, expected: number, writer: PackWriter, packId: (pack: number) => string) {
    if (this.scratch.length < expected) this.scratch = Buffer.allocUnsafeSlow(Math.min(SMALL_FILE_BYTES, 2 * expected));
    const bytes = this.scratch.subarray(0, expected === 0 ? 0 : readSync(fd, this.scratch, 0, expected, 0));
    const hash = createHash('sha256').update(bytes).digest('hex');
    const stored = this.contents.get(hash) ?? this.pending.get(hash);
    if (stored) return stored;
    const parts: Content['parts'][number][] = [];
    if (bytes.length > 0) await writer.add(bytes, (part) => parts.push({ packId: packId(part[0]), part }));
    return { hash, size: bytes.length, parts };
  }

  /** Hashed first when it may be stored already: reading is cheaper than compressing and sending. */
  private async storeLarge(fd: number, writer: PackWriter, packId: (pack: number) => string): Promise<Content> {
    const parts: Content['parts'][number][] = [];
    const hash = createHash('sha256');
    if (this.contents.size > 0) {
      const first = createHash('sha256');
      await readAll(fd, (bytes) => void first.update(bytes));
      const stored = this.contents.get(first.digest('hex'));
      if (stored) return stored;
    }
    const size = await readAll(fd, async (bytes) => {
      hash.update(bytes);
      await writer.add(bytes, (part) => parts.push({ packId: packId(part[0]), part }));
    });
    return { hash: hash.digest('hex'), size, parts };
  }
}

/** Reads to the end, always into the same buffer. Resolves to the number of bytes. */
async function readAll(fd: number, onBlock: (bytes: Buffer) => Promise<void> | void): Promise<number> {
  const buffer = Buffer.allocUnsafeSlow(MAX_BLOCK_BYTES);
  for (let size = 0; ;) {
    const { bytesRead } = await readFile(fd, buffer, 0, buffer.length, size);
    if (bytesRead === 0) return size;
    await onBlock(buffer.subarray(0, bytesRead));
    size += bytesRead;
  }
}

function isSame(entries: readonly ScannedEntry[], before: readonly ScannedEntry[]): boolean {
  return entries.length === before.length && entries.every((entry, index) => isSameEntry(entry, before[index]));
}

function isSameEntry(entry: ScannedEntry, before: ScannedEntry | undefined): boolean {
  if (before === undefined || entry.key !== before.key) return false;
  if (entry.type === 'file') return before.type === 'file' && entry.version === before.version;
  if (entry.type === 'link') return before.type === 'link' && entry.target === before.target;
  return before.type === 'directory' && entry.mode === before.mode;
}

/** Files that are not known could not be read. `packs` gets the ids of packs that are new. */
function describe(scan: Scan, known: readonly (KnownFile | undefined)[], packs: Map<string, number>) {
  const packIndex = (packId: string): number => {
    const index = packs.get(packId) ?? packs.size;
    packs.set(packId, index);
    return index;
  };
  let bytes = 0;
  const lines: ManifestLine[] = [];
  for (const [index, entry] of scan.entries.entries()) {
    if (entry.type === 'link') lines.push(lineOf({ ...textOf(entry.key, entry.target), type: 'link' }));
    else if (entry.type === 'directory')
      lines.push(lineOf({ ...textOf(entry.key), type: 'directory', mode: entry.mode }));
    else {
      const file = known[index];
      if (!file) continue;
      const { size, hash, parts } = file.content;
      bytes += size;
      file.line ??= lineOf({
        ...textOf(entry.key),
        type: 'file',
        mode: entry.mode,
        mtime: entry.mtime,
        size,
        hash,
        content: parts.map(({ packId, part: [, ...rest] }): Extent => [packIndex(packId), ...rest]),
      });
      lines.push(file.line);
    }
  }
  const header = { version: SNAPSHOT_VERSION, packs: [...packs.keys()], entries: lines.length, bytes };
  return { header, lines };
}
