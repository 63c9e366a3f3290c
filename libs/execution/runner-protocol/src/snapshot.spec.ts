import { describe, expect, it } from 'vitest';
import {
  encodeManifest,
  parseManifest,
  type SnapshotEntry,
  type SnapshotHeader,
  SnapshotManifestError,
} from './snapshot.js';

const LIMITS = { max_bytes: 1000, max_entries: 5 };
const PACK = '01900000-0000-7000-8000-000000000001';
const header = (fields: Partial<SnapshotHeader> = {}): SnapshotHeader => ({
  version: 1,
  packs: [PACK],
  entries: 0,
  bytes: 0,
  problems: [],
  excluded: [],
  root: '/srv/workspaces/1',
  ...fields,
});
const directory = (path: string): SnapshotEntry => ({ type: 'directory', path, mode: 0o755 });
const file = (path: string, size = 3): SnapshotEntry => ({
  type: 'file',
  path,
  mode: 0o644,
  mtime: 1,
  size,
  hash: 'a'.repeat(64),
  content: size === 0 ? [] : [[0, 0, 10, 0, size]],
});
const parse = (entries: readonly object[], fields: Partial<SnapshotHeader> = {}) => {
  const bytes = entries.reduce((sum, entry) => sum + ((entry as { size?: number }).size ?? 0), 0);
  const text = encodeManifest(header({ entries: entries.length, bytes, ...fields }), entries as SnapshotEntry[]);
  return parseManifest(text.toString(), LIMITS);
};

describe('the manifest of a snapshot', () => {
  it('is read as it was written', () => {
    const entries = [
      directory('work'),
      file('work/a\nb'),
      { type: 'link', path: 'work/link', target: '../../etc' } as const,
      { ...file('work/\xff'), binary: true } as const,
    ];
    expect(parse(entries)).toEqual({ header: header({ entries: 4, bytes: 6 }), entries });
  });

  it.each([
    ['/etc/passwd', 'is absolute'],
    ['..', 'empty segment, "." or ".."'],
    ['work/../../etc', 'empty segment, "." or ".."'],
    ['work/./a', 'empty segment, "." or ".."'],
    ['work//a', 'empty segment, "." or ".."'],
    ['', 'is empty'],
    ['work/a\0b', 'NUL'],
    [`work/${'a'.repeat(256)}`, 'too long'],
    ['elsewhere/file', 'is not in a directory'],
  ])('rejects the path %j', (path, reason) => {
    expect(() => parse([directory('work'), file(path)])).toThrow(reason);
  });

  it('rejects a file below a link, and a path that occurs twice', () => {
    const link = { type: 'link', path: 'work/link', target: '/etc' };
    expect(() => parse([directory('work'), link, file('work/link/passwd')])).toThrow('is not in a directory');
    expect(() => parse([directory('work'), file('work/a'), file('work/a')])).toThrow('occurs twice');
  });

  it.each([
    ['a device', { type: 'device', path: 'work/null', mode: 0o666 }],
    ['a set-user-ID file', { ...file('work/su'), mode: 0o4755 }],
    ['a pack that is not named', { ...file('work/a'), content: [[1, 0, 10, 0, 3]] }],
    ['content of another size', { ...file('work/a'), content: [[0, 0, 10, 0, 2]] }],
    ['a block that is too large', { ...file('work/a'), content: [[0, 0, 10, 1_048_576, 3]] }],
    ['a negative offset', { ...file('work/a'), content: [[0, -1, 10, 0, 3]] }],
    ['no hash', { ...file('work/a'), hash: '../../etc' }],
    ['an array', []],
  ])('rejects %s', (_what, entry) => {
    expect(() => parse([directory('work'), entry])).toThrow(SnapshotManifestError);
  });

  it('rejects more than the limits allow, and counts that do not match', () => {
    const many = ['a', 'b', 'c', 'd', 'e'].map((name) => file(`work/${name}`, 1));
    expect(() => parse([directory('work'), ...many])).toThrow('the limit is 5');
    expect(() => parse([directory('work'), file('work/a', 1001)])).toThrow('larger than 1000 bytes');
    expect(() => parse([directory('work')], { entries: 2 })).toThrow('The number of entries');
    expect(() => parse([directory('work')], { bytes: 5 })).toThrow('The size of the files');
    expect(() => parse([], { packs: ['../../secrets'] })).toThrow('The packs');
    expect(() => parse([], { version: 2 })).toThrow('The version');
    expect(() => parseManifest('nonsense', LIMITS)).toThrow('Line 1 of the manifest is not a JSON object.');
  });
});
