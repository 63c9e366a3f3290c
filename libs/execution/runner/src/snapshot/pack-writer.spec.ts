import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeBlock, MAX_BLOCK_BYTES, partOf } from '#execution/runner-protocol';
import { PackWriter, type Part } from './pack-writer.js';

const MIB = 1_048_576;

describe('PackWriter', () => {
  it('stores random content as it is, and compresses the rest', async () => {
    const packs: Buffer[] = [];
    const writer = new PackWriter((_pack, content) => Promise.resolve(void packs.push(Buffer.concat(content))));
    const contents = Array.from({ length: 300 }, (_, index) =>
      index % 2 === 0 ? randomBytes(50_000) : Buffer.from(`line ${index}\n`.repeat(5_000)),
    );
    const parts: Part[] = [];
    // The memory of the caller may change afterwards.
    const scratch = Buffer.alloc(MAX_BLOCK_BYTES);
    for (const content of contents) {
      content.copy(scratch);
      await writer.add(scratch.subarray(0, content.length), (part) => parts.push(part));
    }
    await writer.end();
    await writer.sent;
    expect(writer.storedBytes).toBe(packs.reduce((sum, { length }) => sum + length, 0));
    expect(writer.storedBytes).toBeGreaterThan(150 * 50_000);
    expect(writer.storedBytes).toBeLessThan(150 * 50_000 * 1.05);
    const decoded = await Promise.all(
      parts.map(async ([pack, block, stored, from, length]) =>
        partOf(await decodeBlock(packs[pack] ?? Buffer.alloc(0), block, stored), from, length).toString('latin1'),
      ),
    );
    expect(decoded.sort()).toEqual(contents.map((content) => content.toString('latin1')).sort());
  });

  it('needs a limited amount of memory for content that becomes much smaller', async () => {
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const writer = new PackWriter(() => Promise.resolve());
    const zeros = Buffer.alloc(MAX_BLOCK_BYTES);
    for (let index = 0; index < 300; index += 1) {
      await writer.add(zeros, () => undefined);
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
    await writer.end();
    expect(most).toBeLessThan(100 * MIB);
  });

  it('reports a pack that is rejected, at the latest with `sent`', async () => {
    const writer = new PackWriter(() => Promise.reject(new Error('no')));
    await writer.add(Buffer.from('text'), () => undefined);
    await writer.end();
    await expect(writer.sent).rejects.toThrow('no');
  });
});
