import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { encodeEntry, type SnapshotEntry } from '#execution/runner-protocol';

const gzipped = promisify(gzip);

/** A group of lines ends before the first directory behind this number of lines, */
const GROUP_LINES = 64;
/** or at this number of lines. */
const MAX_GROUP_LINES = 1024;
/** Compressed at the same time. */
const CONCURRENT = 4;

/** One line of a manifest, without the end of the line. */
export interface ManifestLine {
  readonly text: string;
  readonly isDirectory: boolean;
}

/** Consecutive lines. */
class Group {
  readonly digest: Buffer;
  private compressed: Promise<Buffer> | null = null;

  constructor(private readonly lines: readonly string[]) {
    this.digest = sha256(this.text());
  }

  isOf(lines: readonly string[]): boolean {
    return this.lines.length === lines.length && this.lines.every((line, index) => line === lines[index]);
  }

  compress(): Promise<Buffer> {
    return (this.compressed ??= compress(this.text()));
  }

  private text(): Buffer {
    return Buffer.from(`\n${this.lines.join('\n')}`, 'utf8');
  }
}

export interface EncodedManifest {
  /** Equal for equal manifests. */
  readonly digest: string;
  /** The gzipped manifest. */
  compress(): Promise<Buffer>;
}

/**
 * Encodes the manifests of consecutive snapshots. Most lines of a manifest are those of the one before: groups of lines that have
 * not changed are not encoded and compressed again. Several gzip members behind each other are a gzip file.
 */
export class ManifestEncoder {
  /** Of the last manifest, by their first line. */
  private groups: ReadonlyMap<string, Group> = new Map();

  encode(header: string, lines: readonly ManifestLine[]): EncodedManifest {
    const groups = new Map<string, Group>();
    let from = 0;
    for (let to = 1; to <= lines.length; to += 1) {
      const isEnd = to === lines.length || to - from >= MAX_GROUP_LINES;
      if (!isEnd && (to - from < GROUP_LINES || lines[to]?.isDirectory !== true)) continue;
      const texts = lines.slice(from, to).map(({ text }) => text);
      const [first = ''] = texts;
      const known = this.groups.get(first);
      groups.set(first, known?.isOf(texts) === true ? known : new Group(texts));
      from = to;
    }
    this.groups = groups;
    const all = [...groups.values()];
    const digest = sha256(Buffer.concat([sha256(Buffer.from(header)), ...all.map((group) => group.digest)]));
    return { digest: digest.toString('hex'), compress: () => compressAll(header, all) };
  }
}

async function compressAll(header: string, groups: readonly Group[]): Promise<Buffer> {
  const members = [await compress(Buffer.from(header, 'utf8'))];
  const queue = groups.entries();
  const work = async (): Promise<void> => {
    for (const [index, group] of queue) members[index + 1] = await group.compress();
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  return Buffer.concat(members);
}

const compress = (text: Buffer): Promise<Buffer> => gzipped(text, { level: 1, chunkSize: text.length + 4096 });

const sha256 = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest();

export const lineOf = (entry: SnapshotEntry): ManifestLine => ({
  text: encodeEntry(entry),
  isDirectory: entry.type === 'directory',
});

/** Names are UTF-8 where they can be. */
export function textOf(key: string): { path: string; binary?: true };
export function textOf(key: string, target: string): { path: string; target: string; binary?: true };
export function textOf(key: string, target?: string): { path: string; target?: string; binary?: true } {
  const [path, linked] = [utf8Of(key), target === undefined ? undefined : utf8Of(target)];
  if (path !== null && linked !== null) return { path, ...(linked === undefined ? {} : { target: linked }) };
  return { path: key, ...(target === undefined ? {} : { target }), binary: true };
}

function utf8Of(bytes: string): string | null {
  const buffer = Buffer.from(bytes, 'latin1');
  const text = buffer.toString('utf8');
  return Buffer.from(text, 'utf8').equals(buffer) ? text : null;
}
