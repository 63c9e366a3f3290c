import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { lineOf, ManifestEncoder, type ManifestLine } from './manifest-encoder.js';

const directory = (path: string): ManifestLine => lineOf({ path, type: 'directory', mode: 0o755 });
const file = (path: string, mtime: number): ManifestLine =>
  lineOf({ path, type: 'file', mode: 0o644, mtime, size: 0, hash: 'a'.repeat(64), content: [] });

/** The version of each file of each directory; a directory of undefined does not exist. */
const trees = fc.array(fc.option(fc.array(fc.nat(2), { maxLength: 200 }), { nil: undefined }), { maxLength: 12 });
const linesOf = (tree: readonly (readonly number[] | undefined)[]): ManifestLine[] =>
  tree.flatMap((files, at) =>
    files === undefined
      ? []
      : [directory(`d${at}`), ...files.map((version, index) => file(`d${at}/ä${index}`, version))],
  );
const textOf = (header: string, lines: readonly ManifestLine[]): string =>
  [header, ...lines.map(({ text }) => text)].join('\n');

it('encodes each of consecutive manifests as if it were the first one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(trees, { minLength: 2, maxLength: 4 }), async (states) => {
      const encoder = new ManifestEncoder();
      for (const [index, state] of states.entries()) {
        const lines = linesOf(state);
        const encoded = encoder.encode(`header ${index}`, lines);
        expect(gunzipSync(await encoded.compress()).toString()).toBe(textOf(`header ${index}`, lines));
        expect(encoded.digest).toBe(new ManifestEncoder().encode(`header ${index}`, linesOf(state)).digest);
      }
    }),
    { numRuns: 50 },
  );
});

it('has another digest for another manifest', () => {
  const digests = [
    ['header', [[1], [2]]],
    ['another header', [[1], [2]]],
    ['header', [[1], [1]]],
    ['header', [[1], undefined, [2]]],
    ['header', [[1]]],
    ['header', []],
  ].map(([header, tree]) => new ManifestEncoder().encode(header as string, linesOf(tree as number[][])).digest);
  expect(new Set(digests).size).toBe(digests.length);
});

it('encodes more files than a group contains, in one directory', async () => {
  const files = (version: number) => Array.from({ length: 5_000 }, (_, index) => (index === 4_000 ? version : 0));
  const encoder = new ManifestEncoder();
  for (const version of [0, 1, 1]) {
    const lines = linesOf([files(version)]);
    expect(gunzipSync(await encoder.encode('header', lines).compress()).toString()).toBe(textOf('header', lines));
  }
});
