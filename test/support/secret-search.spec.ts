import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { filesBelow, placesWith } from './secret-search.js';

const SECRET = 't0ken/with+signs?';

it.each([
  ['as it is', SECRET],
  ['in a URL', encodeURIComponent(SECRET)],
  ['in hexadecimal', Buffer.from(SECRET).toString('hex')],
  ...['', 'a', 'ab', 'abc'].flatMap((before) =>
    (['base64', 'base64url'] as const).map((encoding) => [
      `in ${encoding} after ${before.length} characters`,
      Buffer.from(`${before}${SECRET}:after`).toString(encoding),
    ]),
  ),
])('finds a secret %s', (_how, text) => {
  const places = [
    { name: 'with', content: Buffer.from(`before ${text} after`) },
    { name: 'without', content: Buffer.from(`before ${text.slice(0, -12)} after`) },
  ];
  expect(placesWith([SECRET], places)).toEqual(['with']);
});

it('finds a secret in compressed files of directories', () => {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-search-'));
  try {
    mkdirSync(join(directory, 'own'));
    mkdirSync(join(directory, 'below'));
    writeFileSync(join(directory, 'own', 'file'), SECRET);
    writeFileSync(join(directory, 'below', 'git'), deflateSync(SECRET));
    writeFileSync(join(directory, 'below', 'object'), Buffer.concat([Buffer.from('{}\n'), gzipSync(SECRET)]));
    writeFileSync(join(directory, 'below', 'other'), 'x');
    const found = placesWith([SECRET], filesBelow(directory, [join(directory, 'own')]));
    expect(found.sort()).toEqual(['git', 'object'].map((name) => `${join(directory, 'below', name)} (unpacked)`));
  } finally {
    rmSync(directory, { recursive: true });
  }
});
