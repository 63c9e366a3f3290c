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
const parse = async (entries: readonly object[], fields: Partial<SnapshotHeader> = {}) => {
  const bytes = entries.reduce((sum, entry) => sum + ((entry as { size?: number }).size ?? 0), 0);
  const text = encodeManifest(header({ entries: entries.length, bytes, ...fields }), entries as SnapshotEntry[]);
  return parseManifest(text, LIMITS);
};

describe('the manifest of a snapshot', () => {
  it('is read as it was written', async () => {
    const entries = [
      directory('work'),
      file('work/a\nb'),
      { type: 'link', path: 'work/link', target: '../../etc' } as const,
      { ...file('work/\xff'), binary: true } as const,
    ];
    expect(await parse(entries)).toEqual({ header: header({ entries: 4, bytes: 6 }), entries });
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
  ])('rejects the path %j', async (path, reason) => {
    await expect(parse([directory('work'), file(path)])).rejects.toThrow(reason);
  });

  it('rejects a file below a link, and a path that occurs twice', async () => {
    const link = { type: 'link', path: 'work/link', target: '/etc' };
    await expect(parse([directory('work'), link, file('work/link/passwd')])).rejects.toThrow('is not in a directory');
    await expect(parse([directory('work'), file('work/a'), file('work/a')])).rejects.toThrow('occurs twice');
  });

  it.each([
    ['a device', { type: 'device', path: 'work/null', mode: 0o666 }],
    ['a set-user-ID file', { ...file('work/su'), mode: 0o4755 }],
    ['a pack that is not named', { ...file('work/a'), content: [[1, 0, 10, 0, 3]] }],
    ['content of another size', { ...file('work/a'), content: [[0, 0, 10, 0, 2]] }],
    ['a block that is too large', { ...file('work/a'), content: [[0, 0, 10, 1_048_576, 3]] }],
    ['a negative offset', { ...file('work/a'), content: [[0, -1, 10, 0, 3]] }],
    ['more parts than its size needs', { ...file('work/a'), content: Array(3).fill([0, 0, 10, 0, 1]) }],
    [
      'an empty part',
      {
        ...file('work/a'),
        content: [
          [0, 0, 10, 0, 3],
          [0, 0, 10, 0, 0],
        ],
      },
    ],
    ['no hash', { ...file('work/a'), hash: '../../etc' }],
    ['an array', []],
  ])('rejects %s', async (_what, entry) => {
    await expect(parse([directory('work'), entry])).rejects.toThrow(SnapshotManifestError);
  });

  it('rejects more than the limits allow, and counts that do not match', async () => {
    const many = ['a', 'b', 'c', 'd', 'e'].map((name) => file(`work/${name}`, 1));
    await expect(parse([directory('work'), ...many])).rejects.toThrow('the limit is 5');
    await expect(parse([directory('work'), file('work/a', 1001)])).rejects.toThrow('larger than 1000 bytes');
    await expect(parse([directory('work')], { entries: 2 })).rejects.toThrow('The number of entries');
    await expect(parse([directory('work')], { bytes: 5 })).rejects.toThrow('The size of the files');
    await expect(parse([], { packs: ['../../secrets'] })).rejects.toThrow('The packs');
    await expect(parse([], { version: 2 })).rejects.toThrow('The version');
    await expect(parseManifest(Buffer.from('nonsense'), LIMITS)).rejects.toThrow(
      'Line 1 of the manifest is not a JSON object.',
    );
  });
  it('is rejected before its lines are read when they are more than the header says', async () => {
    const text = Buffer.concat([
      encodeManifest(header({ entries: 1, bytes: 0 }), [directory('work')]),
      Buffer.alloc(50_000_000, 10),
    ]);
    await expect(parseManifest(text, LIMITS)).rejects.toThrow('The number of entries');
    const long = Buffer.concat([Buffer.from('{"a":"'), Buffer.alloc(5_000_000, 120), Buffer.from('"}')]);
    await expect(parseManifest(long, LIMITS)).rejects.toThrow('too long');
  });

  it('is read in slices, between which other work continues', async () => {
    const entries = Array.from({ length: 20_000 }, (_, index) => directory(`directory-${index}`));
    const text = encodeManifest(header({ entries: entries.length, bytes: 0 }), entries);
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    const reading = parseManifest(text, { max_bytes: 1, max_entries: entries.length });
    expect((await reading).entries).toHaveLength(entries.length);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(1);
  });
});
