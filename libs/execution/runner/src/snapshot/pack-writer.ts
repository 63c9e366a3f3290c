import { promisify } from 'node:util';
import { deflateRaw } from 'node:zlib';
import { BLOCK_DEFLATED, BLOCK_STORED, MAX_BLOCK_BYTES } from '#execution/runner-protocol';

const deflate = promisify(deflateRaw);
/** Blocks that are compressed at the same time: as many as libuv has threads. */
const CONCURRENT = 4;
/** A block that does not become smaller than this share is stored as it is. */
const USEFUL_SHARE = 0.95;
/** Compressing what does not become smaller takes most of the time, so a part of each block decides. */
const SAMPLE_BYTES = 16_384;
const FAST = { level: 1 };
/** A pack is sent when it has reached this size; it is in memory until then. */
const PACK_BYTES = 8 * 1_048_576;

/** Where some bytes are: number of the pack, offset and length of the block, offset in the decoded block, length. */
export type Part = readonly [pack: number, block: number, stored: number, from: number, length: number];

type PartListener = (pack: number, block: number, stored: number) => void;

interface PendingBlock {
  readonly encoded: Promise<Buffer>;
  readonly listeners: readonly PartListener[];
}

/** Encodes content as blocks of packs. `send` gets each complete pack, numbered from 0, and is awaited before the next one. */
export class PackWriter {
  /** Bytes of all packs. */
  storedBytes = 0;
  private chunks: Buffer[] = [];
  private size = 0;
  private listeners: PartListener[] = [];
  private readonly pending: PendingBlock[] = [];
  private pack = 0;
  private blocks: Buffer[] = [];
  private packBytes = 0;
  private sending: Promise<void> = Promise.resolve();

  constructor(private readonly send: (pack: number, content: Buffer) => Promise<void>) {}

  /** Appends at most MAX_BLOCK_BYTES. `onPart` is called when their block is part of a pack. */
  async add(bytes: Buffer, onPart: (part: Part) => void): Promise<void> {
    if (this.size + bytes.length > MAX_BLOCK_BYTES) await this.seal();
    const [from, { length }] = [this.size, bytes];
    this.chunks.push(bytes);
    this.size += length;
    this.listeners.push((pack, block, stored) => onPart([pack, block, stored, from, length]));
    if (this.size >= MAX_BLOCK_BYTES) await this.seal();
  }

  /** Sends everything that was added. */
  async end(): Promise<void> {
    await this.seal();
    while (this.pending.length > 0) await this.writeFirst();
    if (this.packBytes > 0) await this.sendPack();
    await this.sending;
  }

  private async seal(): Promise<void> {
    if (this.size === 0) return;
    const bytes = this.chunks.length === 1 && this.chunks[0] ? this.chunks[0] : Buffer.concat(this.chunks);
    const encoded = encodeBlock(bytes);
    // A failure is reported when the block is written.
    encoded.catch(() => undefined);
    this.pending.push({ encoded, listeners: this.listeners });
    [this.chunks, this.size, this.listeners] = [[], 0, []];
    while (this.pending.length >= CONCURRENT) await this.writeFirst();
  }

  private async writeFirst(): Promise<void> {
    const next = this.pending.shift();
    if (!next) return;
    const block = await next.encoded;
    const at = this.packBytes;
    this.blocks.push(block);
    this.packBytes += block.length;
    for (const listener of next.listeners) listener(this.pack, at, block.length);
    if (this.packBytes >= PACK_BYTES) await this.sendPack();
  }

  /** One pack is sent while the next one is filled. */
  private async sendPack(): Promise<void> {
    const content = Buffer.concat(this.blocks);
    const { pack } = this;
    this.storedBytes += content.length;
    this.pack += 1;
    [this.blocks, this.packBytes] = [[], 0];
    await this.sending;
    this.sending = this.send(pack, content);
    // A failure is reported by the next wait for it.
    this.sending.catch(() => undefined);
  }
}

async function encodeBlock(bytes: Buffer): Promise<Buffer> {
  if (!(await isCompressible(bytes))) return Buffer.concat([BLOCK_STORED, bytes]);
  const packed = await deflate(bytes, FAST);
  return packed.length < bytes.length * USEFUL_SHARE
    ? Buffer.concat([BLOCK_DEFLATED, packed])
    : Buffer.concat([BLOCK_STORED, bytes]);
}

async function isCompressible(bytes: Buffer): Promise<boolean> {
  if (bytes.length <= 2 * SAMPLE_BYTES) return true;
  const middle = (bytes.length - SAMPLE_BYTES) >> 1;
  const sample = bytes.subarray(middle, middle + SAMPLE_BYTES);
  return (await deflate(sample, FAST)).length < SAMPLE_BYTES * USEFUL_SHARE;
}
