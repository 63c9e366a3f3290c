import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

const decompress = promisify(gunzip);
/** Of a decoded manifest. */
const MAX_MANIFEST_TEXT_BYTES = 256 * 1_048_576;
const MAX_LINE_BYTES = 4 * 1_048_576;
/** That are parsed at once. */
const SLICE_BYTES = 262_144;

/**
 * A snapshot of a workspace: a manifest, which names every entry, and packs, which contain the content of files. A pack belongs
 * to a run and is never changed; later snapshots refer to packs of earlier ones for what has not changed.
 *
 * A manifest is gzipped JSON lines: {@link SnapshotHeader}, then one {@link SnapshotEntry} a line, each directory before what is
 * in it. A pack is a sequence of blocks. The first byte of a block is the method (0: as it is, 1: raw deflate, which is only
 * read, 2: brotli), the rest the data. A block decodes to at most {@link MAX_BLOCK_BYTES} bytes and may contain several small
 * files or a part of a large one.
 */
export const SNAPSHOT_VERSION = 1;
export const MAX_BLOCK_BYTES = 1_048_576;
/** Of a stored pack. */
export const MAX_PACK_BYTES = 16 * 1_048_576;
/** Of a pack that is sent together with a manifest. */
export const MAX_INLINE_PACK_BYTES = 1_048_576;
/** Of a gzipped manifest. */
export const MAX_MANIFEST_BYTES = 64 * 1_048_576;
export const BLOCK_STORED = Buffer.from([0]);
export const BLOCK_DEFLATED = Buffer.from([1]);
export const BLOCK_BROTLI = Buffer.from([2]);

export interface SnapshotHeader {
  readonly version: number;
  /** Ids of packs; extents name them by position. */
  readonly packs: readonly string[];
  readonly entries: number;
  /** Sum of the sizes of files. */
  readonly bytes: number;
  /** What is missing in the snapshot, a sentence each. */
  readonly problems: readonly string[];
  /** Some of the paths that ignore rules exclude; directories end with a slash. */
  readonly excluded: readonly string[];
  /** Absolute path of the workspace, which some files of git contain. */
  readonly root: string;
  /** Absolute path of the working directory, when it is not `work` in the workspace. */
  readonly work_dir?: string;
}

/** `start`: before the first turn. `interval`: during a turn. `end`: after the last turn, when its processes have ended. */
export const SNAPSHOT_REASONS = ['start', 'turn', 'interval', 'end'] as const;
export type SnapshotReason = (typeof SNAPSHOT_REASONS)[number];

/** Where a part of a file is: pack, offset of its block, length of its block, offset in the decoded block, length. */
export type Extent = readonly [pack: number, block: number, stored: number, from: number, length: number];

interface SnapshotEntryBase {
  /** Relative to the workspace, segments joined by `/`. */
  readonly path: string;
  /** A name is not UTF-8: each character of `path` and `target` is one byte. */
  readonly binary?: true;
}

export interface SnapshotDirectory extends SnapshotEntryBase {
  readonly type: 'directory';
  /** Permission bits. */
  readonly mode: number;
}

export interface SnapshotFile extends SnapshotEntryBase {
  readonly type: 'file';
  readonly mode: number;
  /** Whole milliseconds since 1970. */
  readonly mtime: number;
  readonly size: number;
  /** SHA-256, hexadecimal. */
  readonly hash: string;
  readonly content: readonly Extent[];
}

export interface SnapshotLink extends SnapshotEntryBase {
  readonly type: 'link';
  readonly target: string;
}

export interface SnapshotManifest {
  readonly header: SnapshotHeader;
  readonly entries: readonly SnapshotEntry[];
}

export type SnapshotEntry = SnapshotDirectory | SnapshotFile | SnapshotLink;

export interface SnapshotLimits {
  /** Bytes of all files. */
  readonly max_bytes: number;
  /** Files, directories and links. */
  readonly max_entries: number;
}

/** The manifest is not valid; the message names the line or the path, and is for people. */
export class SnapshotManifestError extends Error {}

export const encodeManifest = (header: SnapshotHeader, entries: readonly SnapshotEntry[]): Buffer =>
  Buffer.from([JSON.stringify(header), ...entries.map(encodeEntry)].join('\n'), 'utf8');

export const encodeEntry = (entry: SnapshotEntry): string => JSON.stringify(entry);

/** Reads a gzipped manifest. Rejects as {@link parseManifest} does. */
export async function decodeManifest(gzipped: Uint8Array, limits: SnapshotLimits): Promise<SnapshotManifest> {
  const text = await decompress(gzipped, { maxOutputLength: MAX_MANIFEST_TEXT_BYTES }).catch(() => null);
  if (text === null) throw new SnapshotManifestError('The list of the files cannot be decompressed.');
  return parseManifest(text, limits);
}

/**
 * Reads a decoded manifest, in slices between which other work continues. Rejects with SnapshotManifestError for anything that could
 * reach outside the workspace.
 */
export async function parseManifest(text: Buffer, limits: SnapshotLimits): Promise<SnapshotManifest> {
  const lines = linesOf(text);
  const header = parseHeader(lines.next().value ?? '');
  if (header.entries > limits.max_entries)
    throw new SnapshotManifestError(`The snapshot has ${header.entries} entries; the limit is ${limits.max_entries}.`);
  const directories = new Set<string>(['']);
  const paths = new Set<string>();
  const entries: SnapshotEntry[] = [];
  let bytes = 0;
  let sliceBytes = 0;
  for (const line of lines) {
    if (entries.length >= header.entries) throw wrongCount();
    const entry = parseEntry(line, entries.length + 2, header.packs.length);
    const where = JSON.stringify(entry.path.slice(0, 200));
    const fault = pathFault(entry.path);
    if (fault !== null) throw new SnapshotManifestError(`The path ${where} ${fault}.`);
    const key = keyOf(entry);
    if (paths.has(key)) throw new SnapshotManifestError(`The path ${where} occurs twice.`);
    paths.add(key);
    if (!directories.has(parentOf(key))) throw new SnapshotManifestError(`The path ${where} is not in a directory.`);
    if (entry.type === 'directory') directories.add(key);
    if (entry.type === 'file') bytes += entry.size;
    if (bytes > limits.max_bytes)
      throw new SnapshotManifestError(`The files of the snapshot are larger than ${limits.max_bytes} bytes.`);
    entries.push(entry);
    sliceBytes += line.length;
    if (sliceBytes < SLICE_BYTES) continue;
    sliceBytes = 0;
    await setImmediate();
  }
  if (entries.length !== header.entries) throw wrongCount();
  if (bytes !== header.bytes) throw new SnapshotManifestError('The size of the files is not that of the header.');
  return { header, entries };
}

const wrongCount = (): SnapshotManifestError =>
  new SnapshotManifestError('The number of entries is not that of the header.');

function* linesOf(text: Buffer): Generator<string, undefined> {
  for (let start = 0; start <= text.length;) {
    const next = text.indexOf(0x0a, start);
    const end = next < 0 ? text.length : next;
    if (end - start > MAX_LINE_BYTES) throw new SnapshotManifestError('A line of the manifest is too long.');
    yield text.toString('utf8', start, end);
    start = end + 1;
  }
}

export const SNAPSHOT_PACK_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAX_TEXTS = 100;
const MAX_TEXT = 10_000;
const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) &&
  value.length <= MAX_TEXTS &&
  value.every((text) => typeof text === 'string' && text.length <= MAX_TEXT);
const isAbsolute = (value: unknown): value is string =>
  typeof value === 'string' && value.startsWith('/') && value.length <= MAX_PATH && !value.includes('\0');
/** Of the parts of a file on average: each costs the decoding of a block. */
const MIN_EXTENT_BYTES = 65_536;
const HASH = /^[0-9a-f]{64}$/;
const MAX_PATH = 4096;
const MAX_NAME = 255;

function parseHeader(line: string): SnapshotHeader {
  const { version, packs, entries, bytes, problems, excluded, root, work_dir: workDir } = fieldsOf(line, 1);
  if (version !== SNAPSHOT_VERSION) throw new SnapshotManifestError('The version of the snapshot is not supported.');
  if (!Array.isArray(packs) || !packs.every((id) => typeof id === 'string' && SNAPSHOT_PACK_ID.test(id)))
    throw new SnapshotManifestError('The packs in the header are not valid.');
  if (!isCount(entries) || !isCount(bytes)) throw new SnapshotManifestError('The counts in the header are not valid.');
  if (!isAbsolute(root) || (workDir !== undefined && !isAbsolute(workDir)))
    throw new SnapshotManifestError('The path of the workspace in the header is not valid.');
  if (!isTextList(problems) || !isTextList(excluded))
    throw new SnapshotManifestError('The texts in the header are not valid.');
  const paths = { root, ...(workDir === undefined ? {} : { work_dir: workDir }) };
  return { version, packs: packs as string[], entries, bytes, problems, excluded, ...paths };
}

function parseEntry(line: string, number: number, packs: number): SnapshotEntry {
  const entry = fieldsOf(line, number);
  const { type, path, binary, mode, mtime, size, hash, content, target } = entry;
  const invalid = (): SnapshotManifestError =>
    new SnapshotManifestError(`Line ${number} of the manifest is not valid.`);
  if (typeof path !== 'string' || (binary !== undefined && binary !== true)) throw invalid();
  const name = { path, ...(binary === true ? { binary: true as const } : {}) };
  const isMode = isCount(mode) && mode <= 0o777;
  if (type === 'directory' && isMode) return { ...name, type, mode };
  if (type === 'link' && typeof target === 'string' && target !== '' && !target.includes('\0'))
    return { ...name, type, target };
  if (
    type !== 'file' ||
    !isMode ||
    !Number.isSafeInteger(mtime) ||
    !isCount(size) ||
    typeof hash !== 'string' ||
    !HASH.test(hash) ||
    !Array.isArray(content) ||
    content.length > size / MIN_EXTENT_BYTES + 2 ||
    !content.every((extent) => isExtent(extent, packs))
  )
    throw invalid();
  const extents = content as Extent[];
  if (extents.reduce((sum, [, , , , length]) => sum + length, 0) !== size) throw invalid();
  return { ...name, type, mode, mtime: mtime as number, size, hash, content: extents };
}

function isExtent(value: unknown, packs: number): boolean {
  if (!Array.isArray(value) || value.length !== 5 || !value.every(isCount)) return false;
  const [pack = 0, , stored = 0, from = 0, length = 0] = value;
  return pack < packs && length > 0 && stored > 0 && stored <= 2 * MAX_BLOCK_BYTES && from + length <= MAX_BLOCK_BYTES;
}

function fieldsOf(line: string, number: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // reported below
  }
  throw new SnapshotManifestError(`Line ${number} of the manifest is not a JSON object.`);
}

/** Why a path is not one below the workspace; null when it is. */
function pathFault(path: string): string | null {
  if (path === '' || Buffer.byteLength(path) > MAX_PATH) return 'is empty or too long';
  if (path.startsWith('/')) return 'is absolute';
  if (path.includes('\0')) return 'contains a NUL character';
  const segments = path.split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..'))
    return 'has an empty segment, "." or ".."';
  return segments.some((segment) => Buffer.byteLength(segment) > MAX_NAME) ? 'has a name that is too long' : null;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** The bytes of the path as characters, so that paths compare as on the disk. */
export const keyOf = ({ path, binary }: SnapshotEntryBase): string =>
  binary === true ? path : Buffer.from(path, 'utf8').toString('latin1');

/** The target of a link in bytes. */
export const targetOf = ({ target, binary }: SnapshotLink): Buffer =>
  Buffer.from(target, binary === true ? 'latin1' : 'utf8');

const parentOf = (key: string): string => key.slice(0, Math.max(0, key.lastIndexOf('/')));
