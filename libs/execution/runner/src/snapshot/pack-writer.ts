import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { BLOCK_BROTLI, BLOCK_STORED, MAX_BLOCK_BYTES } from '#execution/runner-protocol';

const compress = promisify(brotliCompress);
/** Blocks that are compressed at the same time: as many as libuv has threads. */
const CONCURRENT = 4;
/** Blocks that wait for those before them, in memory. */
const MAX_PENDING = 16;
/** A block that does not become smaller than this share is stored as it is. */
const USEFUL_SHARE = 0.95;
/** Compressing what does not become smaller takes most of the time, so a part of each file decides. */
const SAMPLE_BYTES = 1024;
/** Bits for each byte of the sample, which is 8 for random bytes, and so for what is compressed or encrypted. */
const MAX_ENTROPY = 7.5;
/** Memory of the smallest block. Large buffers cost each execution a complete garbage collection. */
const MIN_BUFFER_BYTES = 16_384;
/** A pack is sent when it has reached this size; it is in memory until then. */
const PACK_BYTES = 8 * 1_048_576;

/** The window is not larger than the content, because its memory is prepared first. */
const fastCompression = (bytes: number) => ({
  params: {
    [constants.BROTLI_PARAM_QUALITY]: 1,
    [constants.BROTLI_PARAM_LGWIN]: Math.max(constants.BROTLI_MIN_WINDOW_BITS, Math.ceil(Math.log2(bytes + 16))),
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes,
  },
  // The result is one piece: each one is handled by the main thread.
  chunkSize: bytes + 4096,
});

/** Where some bytes are: number of the pack, offset and length of the block, offset in the decoded block, length. */
export type Part = readonly [pack: number, block: number, stored: number, from: number, length: number];

type PartListener = (pack: number, block: number, stored: number) => void;

/** Content of the same kind, until there is enough of it. */
class OpenBlock {
  /** The first byte is the method. */
  private bytes: Buffer | null = null;
  readonly listeners: PartListener[] = [];
  size = 0;

  constructor(
    readonly isCompressible: boolean,
    private readonly pool: Buffer[],
  ) {}

  add(content: Buffer): void {
    content.copy(this.withSpace(1 + this.size + content.length), 1 + this.size);
    this.size += content.length;
  }

  private withSpace(needed: number): Buffer {
    this.bytes ??= this.pool.pop() ?? null;
    if (this.bytes !== null && this.bytes.length >= needed) return this.bytes;
    const wanted = Math.max(MIN_BUFFER_BYTES, 2 * needed);
    const larger = Buffer.allocUnsafeSlow(Math.min(1 + MAX_BLOCK_BYTES, wanted));
    this.bytes?.copy(larger, 0, 0, 1 + this.size);
    return (this.bytes = larger);
  }

  /** The memory can be used for another block: the result of {@link encode} is not needed any more. */
  release(): void {
    if (this.bytes) this.pool.push(this.bytes);
    this.bytes = null;
  }

  async encode(): Promise<Buffer> {
    if (this.bytes === null) throw new Error('The block has no content.');
    const stored = this.bytes.subarray(0, 1 + this.size);
    BLOCK_STORED.copy(stored);
    if (!this.isCompressible) return stored;
    const packed = await compress(stored.subarray(1), fastCompression(this.size));
    return packed.length < this.size * USEFUL_SHARE ? Buffer.concat([BLOCK_BROTLI, packed]) : stored;
  }
}

interface PendingBlock {
  readonly block: OpenBlock;
  readonly encoded: Promise<Buffer>;
}

/** Encodes content as blocks of packs. `send` gets each complete pack, numbered from 0, and is awaited before the next one. */
export class PackWriter {
  /** Bytes of all packs. */
  storedBytes = 0;
  /** Memory for blocks, which is used again: to get it from the system takes as long as to fill it. */
  private readonly pool: Buffer[] = [];
  private readonly open: Record<'compressible' | 'incompressible', OpenBlock> = {
    compressible: new OpenBlock(true, this.pool),
    incompressible: new OpenBlock(false, this.pool),
  };
  private readonly pending: PendingBlock[] = [];
  private pack = 0;
  private blocks: Buffer[] = [];
  /** Those whose memory `blocks` refers to. */
  private used: OpenBlock[] = [];
  private packBytes = 0;
  private sending: Promise<void> = Promise.resolve();

  constructor(private readonly send: (pack: number, content: readonly Buffer[]) => Promise<void>) {}

  /** Appends a copy of at most MAX_BLOCK_BYTES. `onPart` is called when their block is part of a pack. */
  async add(bytes: Buffer, onPart: (part: Part) => void): Promise<void> {
    const kind = isCompressible(bytes) ? 'compressible' : 'incompressible';
    if (this.open[kind].size + bytes.length > MAX_BLOCK_BYTES) await this.seal(kind);
    const block = this.open[kind];
    const [from, { length }] = [block.size, bytes];
    block.add(bytes);
    block.listeners.push((pack, offset, stored) => onPart([pack, offset, stored, from, length]));
    if (block.size >= MAX_BLOCK_BYTES) await this.seal(kind);
  }

  /** Everything that was added has its position, and is sent or being sent. */
  async end(): Promise<void> {
    for (const kind of ['compressible', 'incompressible'] as const) await this.seal(kind);
    while (this.pending.length > 0) await this.writeFirst();
    if (this.packBytes > 0) await this.sendPack();
  }

  /** After {@link end}. Rejects when a pack was not accepted. */
  get sent(): Promise<void> {
    return this.sending;
  }

  private async seal(kind: 'compressible' | 'incompressible'): Promise<void> {
    const block = this.open[kind];
    if (block.size === 0) return;
    this.open[kind] = new OpenBlock(block.isCompressible, this.pool);
    const encoded = block.encode();
    // A failure is reported when the block is written.
    encoded.catch(() => undefined);
    this.pending.push({ block, encoded });
    while (this.isBusy) await this.writeFirst();
  }

  private get isBusy(): boolean {
    const compressing = this.pending.filter(({ block }) => block.isCompressible);
    return this.pending.length >= MAX_PENDING || compressing.length >= CONCURRENT;
  }

  private async writeFirst(): Promise<void> {
    const next = this.pending.shift();
    if (!next) return;
    const bytes = await next.encoded;
    const at = this.packBytes;
    this.packBytes += bytes.length;
    this.blocks.push(bytes);
    // A compressed block has separate memory.
    if (bytes[0] === BLOCK_BROTLI[0]) next.block.release();
    else this.used.push(next.block);
    for (const listener of next.block.listeners) listener(this.pack, at, bytes.length);
    if (this.packBytes >= PACK_BYTES) await this.sendPack();
  }

  /** One pack is sent while the next one is filled. */
  private async sendPack(): Promise<void> {
    const { pack, blocks, used } = this;
    this.storedBytes += this.packBytes;
    this.pack += 1;
    [this.blocks, this.used, this.packBytes] = [[], [], 0];
    await this.sending;
    this.sending = this.send(pack, blocks).finally(() => {
      for (const block of used) block.release();
    });
    // A failure is reported by the next wait for it.
    this.sending.catch(() => undefined);
  }
}

/** By the entropy of the bytes in the middle. */
function isCompressible(bytes: Buffer): boolean {
  // The entropy of fewer bytes says nothing: they do not contain each value.
  if (bytes.length < SAMPLE_BYTES) return true;
  const from = (bytes.length - SAMPLE_BYTES) >> 1;
  const counts = new Uint32Array(256);
  for (let index = from; index < from + SAMPLE_BYTES; index += 1) {
    const value = bytes[index] ?? 0;
    counts[value] = (counts[value] ?? 0) + 1;
  }
  let entropy = 0;
  for (const count of counts) if (count > 0) entropy -= (count / SAMPLE_BYTES) * Math.log2(count / SAMPLE_BYTES);
  return entropy < MAX_ENTROPY;
}
