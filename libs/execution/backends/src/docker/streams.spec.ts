import { execFileSync } from 'node:child_process';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { directoryArchive, OutputFrames } from './runner-container.js';
import { jsonLines } from './docker-engine.js';

const frame = (content: string): Buffer => {
  const header = Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(Buffer.byteLength(content), 4);
  return Buffer.concat([header, Buffer.from(content)]);
};

describe('OutputFrames', () => {
  it.each([1, 3, 7, 8, 9, 1000])('parses frames in chunks of %d bytes', (size) => {
    const all = Buffer.concat([frame('one\n'), frame(''), frame('two'), frame(' and three\n')]);
    const parts: string[] = [];
    const frames = new OutputFrames((content) => parts.push(content.toString()));
    for (let at = 0; at < all.length; at += size) frames.push(all.subarray(at, at + size));
    expect(parts.join('')).toBe('one\ntwo and three\n');
  });
});

describe('jsonLines', () => {
  const valuesOf = async (...chunks: string[]): Promise<unknown[]> => {
    const values: unknown[] = [];
    for await (const value of jsonLines(Readable.from(chunks.map((chunk) => Buffer.from(chunk))))) values.push(value);
    return values;
  };

  it('reads lines across chunks, and skips values that are not objects', async () => {
    expect(await valuesOf('{"a":', '1}\r\n\nnull\n17\nnot json\n{"b"', ':2}')).toEqual([{ a: 1 }, { b: 2 }]);
  });

  it('rejects a line that is too long', async () => {
    const part = 'x'.repeat(300_000);
    await expect(valuesOf(part, part, part, part)).rejects.toThrow('longer than 1048576 bytes');
  });
});

describe('directoryArchive', () => {
  it('is a valid tar archive of a directory with mode 1777', () => {
    const listed = execFileSync('tar', ['-tvf', '-', '--numeric-owner'], { input: directoryArchive('headrace') });
    expect(listed.toString()).toMatch(/^drwxrwxrwt 0\/0 +0 .* headrace\/\n$/);
  });
});
