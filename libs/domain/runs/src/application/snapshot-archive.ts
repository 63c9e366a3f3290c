import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { SnapshotReader } from '#execution/executions';
import { keyOf, type SnapshotEntry, targetOf } from '#execution/runner-protocol';

const BLOCK = 512;
const NAME_BYTES = 100;
/** The largest number of eleven octal digits. */
const MAX_OCTAL = 8 ** 11 - 1;
/** Entries between two of which other requests of the process are served. */
const ENTRIES_AT_ONCE = 100;

interface ArchiveOptions {
  readonly directory: string;
  /** Milliseconds since 1970: the time of directories and links, of which snapshots have none. */
  readonly takenAt: number;
}

/**
 * A gzipped tar archive (ustar with the long names of GNU) of entries, each named relative to `directory`. A part that is damaged
 * ends the stream with an error. Names are bytes, which packages that write archives do not accept.
 */
export function archiveOf(
  entries: readonly SnapshotEntry[],
  options: ArchiveOptions,
  reader: SnapshotReader,
): Readable {
  // An error is for the reader of the result.
  return pipeline(Readable.from(blocksOf(entries, options, reader)), createGzip({ level: 1 }), () => undefined);
}

async function* blocksOf(
  entries: readonly SnapshotEntry[],
  { directory, takenAt }: ArchiveOptions,
  reader: SnapshotReader,
): AsyncGenerator<Buffer> {
  const prefix = `${keyOf({ path: directory })}/`;
  for (const [index, entry] of entries.entries()) {
    if (index % ENTRIES_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve));
    const key = keyOf(entry);
    if (!key.startsWith(prefix)) continue;
    const name = Buffer.from(key.slice(prefix.length), 'latin1');
    if (entry.type === 'directory')
      yield headerOf({ name: Buffer.concat([name, SLASH]), type: '5', mode: entry.mode, mtime: takenAt });
    else if (entry.type === 'link')
      yield headerOf({ name, type: '2', mode: 0o777, mtime: takenAt, target: targetOf(entry) });
    else {
      const { size, mode, mtime } = entry;
      yield headerOf({ name, type: '0', mode, size, mtime });
      for await (const block of reader.read(entry)) yield block;
      yield paddingOf(size);
    }
  }
  yield Buffer.alloc(2 * BLOCK);
}

const SLASH = Buffer.from('/');

interface Header {
  readonly name: Buffer;
  /** `0`: file, `2`: symbolic link, `5`: directory, `L` and `K`: the content is the name or the target of the next one. */
  readonly type: '0' | '2' | '5' | 'L' | 'K';
  readonly mode: number;
  readonly size?: number;
  /** Milliseconds since 1970. */
  readonly mtime?: number;
  readonly target?: Buffer;
}

/** With what precedes it when a name is too long for it. */
function headerOf({ name, type, mode, size = 0, mtime = 0, target = Buffer.alloc(0) }: Header): Buffer {
  const block = Buffer.alloc(BLOCK);
  name.copy(block, 0, 0, NAME_BYTES);
  block.write(octal(mode, 7), 100);
  for (const at of [108, 116]) block.write(octal(0, 7), at);
  writeNumber(block, size, 124);
  writeNumber(block, Math.min(MAX_OCTAL, Math.max(0, Math.floor(mtime / 1000))), 136);
  block.write(' '.repeat(8), 148);
  block.write(type, 156);
  target.copy(block, 157, 0, NAME_BYTES);
  block.write('ustar\0' + '00', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return Buffer.concat([...longName('K', target), ...longName('L', name), block]);
}

function longName(type: 'L' | 'K', name: Buffer): Buffer[] {
  if (name.length <= NAME_BYTES) return [];
  const content = Buffer.concat([name, Buffer.alloc(1)]);
  const header = headerOf({ name: Buffer.from('././@LongLink'), type, mode: 0, size: content.length });
  return [header, content, paddingOf(content.length)];
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');

/** Twelve bytes; binary, as GNU does, when it does not fit in octal digits. */
function writeNumber(block: Buffer, value: number, at: number): void {
  if (value <= MAX_OCTAL) block.write(octal(value, 11), at);
  else {
    block[at] = 0x80;
    block.writeBigUInt64BE(BigInt(value), at + 4);
  }
}

const paddingOf = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
