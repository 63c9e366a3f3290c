import { promisify } from 'node:util';
import { brotliDecompress, inflateRaw } from 'node:zlib';
import { BLOCK_BROTLI, BLOCK_DEFLATED, BLOCK_STORED, MAX_BLOCK_BYTES } from './snapshot.js';

const inflate = promisify(inflateRaw);
const decompress = promisify(brotliDecompress);
/** The result is one piece, with its end: each piece is handled by the main thread. */
const WHOLE_BLOCK_BYTES = MAX_BLOCK_BYTES + 64;

/** A part of the snapshot is not stored any more, or is damaged. The message is for people. */
export class SnapshotDamagedError extends Error {}

const damaged = (): SnapshotDamagedError => new SnapshotDamagedError('A part of the snapshot is damaged.');

/** The content of a block of a pack. Rejects with SnapshotDamagedError. */
export async function decodeBlock(pack: Buffer, offset: number, stored: number): Promise<Buffer> {
  const block = pack.subarray(offset, offset + stored);
  if (block.length !== stored) throw damaged();
  const data = block.subarray(1);
  const limits = { maxOutputLength: MAX_BLOCK_BYTES, chunkSize: WHOLE_BLOCK_BYTES };
  try {
    if (block[0] === BLOCK_BROTLI[0]) return await decompress(data, limits);
    if (block[0] === BLOCK_DEFLATED[0]) return await inflate(data, limits);
  } catch {
    throw damaged();
  }
  if (block[0] !== BLOCK_STORED[0] || data.length > MAX_BLOCK_BYTES) throw damaged();
  return data;
}

/** The part of a decoded block that a file contains. */
export function partOf(block: Buffer, from: number, length: number): Buffer {
  if (from + length > block.length) throw damaged();
  return block.subarray(from, from + length);
}
