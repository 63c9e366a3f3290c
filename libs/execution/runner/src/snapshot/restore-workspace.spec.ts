import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, deflateRawSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SnapshotEntry, SnapshotManifest } from '#execution/runner-protocol';
import { placesIn, writeFileBelow } from './open-directory.js';
import { restoreWorkspace } from './restore-workspace.js';
import { type ObjectDirectories, scanWorkspace } from './scan-workspace.js';

const PACK = '01900000-0000-7000-8000-000000000001';
let directory: string;
let root: string;
let outside: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'headrace-restore-'));
  root = join(directory, 'workspace');
  outside = join(directory, 'outside');
  for (const path of [root, outside, join(root, 'work'), join(root, 'home')]) mkdirSync(path);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const manifest = (entries: readonly SnapshotEntry[]): SnapshotManifest => ({
  header: {
    version: 1,
    packs: [PACK],
    entries: entries.length,
    bytes: 3,
    problems: [],
    excluded: [],
    root,
  },
  entries,
});
const file = (path: string, stored: number): SnapshotEntry => ({
  type: 'file',
  path,
  mode: 0o644,
  mtime: 1,
  size: 3,
  hash: 'a'.repeat(64),
  content: [[0, 0, stored, 0, 3]],
});
const work: SnapshotEntry = { type: 'directory', path: 'work', mode: 0o700 };
const restore = async (entries: readonly SnapshotEntry[], pack: Buffer | null): Promise<readonly string[]> => {
  const { problems } = await restoreWorkspace({
    places: placesIn(root),
    manifest: manifest(entries),
    getPack: () => Promise.resolve(pack),
    signal: new AbortController().signal,
  });
  return problems;
};
const block = (method: number, content: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from([method]), Buffer.from(content)]);
const STORED = block(0, 'abc');

describe('restoreWorkspace', () => {
  it('writes nothing through a link that exists already', async () => {
    symlinkSync(outside, join(root, 'work/link'));
    const entries: SnapshotEntry[] = [work, { type: 'directory', path: 'work/link', mode: 0o700 }];
    expect(await restore([...entries, file('work/link/a', 4)], STORED)).toEqual([
      '"work/link" was not restored: it exists already.',
      expect.stringMatching(/^"work\/link\/a" was not restored: (ENOTDIR|ELOOP)\.$/),
      expect.stringMatching(/^"work\/link" was not restored: (ENOTDIR|ELOOP)\.$/),
    ]);
    expect(readdirSync(outside)).toEqual([]);
  });

  it('keeps and reports files that exist, such as two names that differ in case only on some disks', async () => {
    writeFileSync(join(root, 'work/readme'), 'kept');
    expect(await restore([work, file('work/readme', 4)], STORED)).toEqual([
      '"work/readme" was not restored: it exists already.',
    ]);
    expect(readFileSync(join(root, 'work/readme'), 'utf8')).toBe('kept');
  });

  it('creates a link after all files, and leaves its target alone', async () => {
    const link: SnapshotEntry = { type: 'link', path: 'work/out', target: outside };
    expect(await restore([work, link, file('work/a', 4)], STORED)).toEqual([]);
    expect(readFileSync(join(root, 'work/a'), 'utf8')).toBe('abc');
    expect(readdirSync(outside)).toEqual([]);
  });

  it('rejects a block that expands to more than its limit, a damaged one, and a pack that is gone', async () => {
    const zeros = Buffer.alloc(50_000_000);
    for (const bomb of [block(1, deflateRawSync(zeros)), block(2, brotliCompressSync(zeros))]) {
      await expect(restore([work, file('work/a', bomb.length)], bomb)).rejects.toThrow('is damaged');
      rmSync(join(root, 'work/a'), { force: true });
    }
    for (const method of [1, 2, 3]) {
      await expect(restore([work, file('work/a', 4)], block(method, 'abc'))).rejects.toThrow('is damaged');
      rmSync(join(root, 'work/a'), { force: true });
    }
    await expect(restore([work, file('work/a', 400)], STORED)).rejects.toThrow('is damaged');
    rmSync(join(root, 'work/a'), { force: true });
    await expect(restore([work, file('work/a', 4)], null)).rejects.toThrow('not stored any more');
  });

  it.each([
    ['as it is', block(0, 'abc')],
    ['with deflate, as earlier versions do', block(1, deflateRawSync('abc'))],
    ['with brotli', block(2, brotliCompressSync('abc'))],
  ])('reads a block that is stored %s', async (_how, stored) => {
    expect(await restore([work, file('work/a', stored.length)], stored)).toEqual([]);
    expect(readFileSync(join(root, 'work/a'), 'utf8')).toBe('abc');
  });
});

describe('writeFileBelow', () => {
  it('replaces a file, creates directories, and rejects a link in the path', () => {
    writeFileBelow(root, 'home/a/b/file', Buffer.from('one'), undefined);
    writeFileBelow(root, 'home/a/b/file', Buffer.from('two'), undefined);
    expect(readFileSync(join(root, 'home/a/b/file'), 'utf8')).toBe('two');
    symlinkSync(outside, join(root, 'home/link'));
    expect(() => writeFileBelow(root, 'home/link/file', Buffer.from('x'), undefined)).toThrow();
    symlinkSync(join(outside, 'target'), join(root, 'home/file-link'));
    writeFileBelow(root, 'home/file-link', Buffer.from('x'), undefined);
    expect(existsSync(join(outside, 'target'))).toBe(false);
  });
});

describe('scanWorkspace', () => {
  const scan = async (maxEntries = 1000) => scanWorkspace({ places: { work: join(root, 'work') }, maxEntries });

  it('follows no links, and lists no pipes and devices', async () => {
    writeFileSync(join(outside, 'secret'), 'x');
    symlinkSync(outside, join(root, 'work/link'));
    execFileSync('mkfifo', [join(root, 'work/pipe')]);
    // Only root may create a device.
    if (process.getuid?.() === 0) execFileSync('mknod', [join(root, 'work/zero'), 'c', '1', '5']);
    const { entries } = await scan();
    expect(entries.map(({ key }) => key)).toEqual(['work', 'work/link']);
  });

  it('excludes what .headraceignore names, also in directories below, and says so', async () => {
    mkdirSync(join(root, 'work/deep'));
    writeFileSync(join(root, 'work/.headraceignore'), '*.log\n!keep.log\ncache/\n');
    writeFileSync(join(root, 'work/deep/.headraceignore'), '!special.log\n');
    mkdirSync(join(root, 'work/cache'));
    for (const name of ['a.log', 'keep.log', 'deep/b.log', 'deep/special.log', 'cache/c'])
      writeFileSync(join(root, 'work', name), '');
    const { entries, excluded } = await scan();
    expect(entries.flatMap(({ key, type }) => (type === 'file' ? [key] : []))).toEqual([
      'work/.headraceignore',
      'work/deep/.headraceignore',
      'work/deep/special.log',
      'work/keep.log',
    ]);
    expect(excluded).toEqual(['work/a.log', 'work/cache/', 'work/deep/b.log']);
  });

  describe('of objects of git', () => {
    const objects: ObjectDirectories = new Map();
    const directory = () => join(root, 'work/.git/objects/ab');
    const scanned = async (): Promise<Record<string, number>> => {
      const { entries } = await scanWorkspace({ places: { work: join(root, 'work') }, maxEntries: 1000, objects });
      return Object.fromEntries(
        entries.flatMap((entry) => (entry.type === 'file' ? [[entry.key.slice(-1), entry.size]] : [])),
      );
    };
    const put = (name: string, mode = 0o444): void => writeFileSync(join(directory(), name), '1', { mode });
    beforeEach(() => {
      objects.clear();
      mkdirSync(directory(), { recursive: true });
      vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 60_000);
    });

    it('remembers those of a directory until it changes', async () => {
      put('1');
      expect(await scanned()).toEqual({ 1: 1 });
      expect(objects.size).toBe(1);
      put('2');
      expect(await scanned()).toEqual({ 1: 1, 2: 1 });
      rmSync(join(directory(), '1'));
      expect(await scanned()).toEqual({ 2: 1 });
    });

    it.each([
      ['a file that may be written', () => put('2', 0o644)],
      ['a directory', () => mkdirSync(join(directory(), '2'))],
      [
        'a directory that has its only file',
        () => {
          mkdirSync(join(directory(), '2'));
          renameSync(join(directory(), '1'), join(directory(), '2/1'));
        },
      ],
      [
        'objects of Git LFS',
        () => {
          mkdirSync(join(root, 'work/.git/lfs/objects'), { recursive: true });
          renameSync(directory(), join(root, 'work/.git/lfs/objects/ab'));
        },
      ],
      ['a file that has just changed', () => vi.spyOn(Date, 'now').mockReturnValue(statSync(directory()).ctimeMs)],
      ['a pack', () => renameSync(directory(), join(directory(), '../pack'))],
    ])('looks again at a directory with %s', async (_what, make) => {
      put('1');
      make();
      await scanned();
      expect(objects.size).toBe(0);
    });

    it.runIf(process.getuid?.() === 0)('looks again at a directory with a file of another user', async () => {
      put('1');
      const runAs = { uid: 4711, gid: 4711 };
      for (let count = 0; count < 2; count += 1) {
        const { problems } = await scanWorkspace({
          places: { work: join(root, 'work') },
          maxEntries: 1000,
          objects,
          runAs,
        });
        expect(problems).toContain('"work/.git/objects/ab/1" is not in the snapshot: it belongs to another user.');
      }
      expect(objects.size).toBe(0);
    });
  });

  it('rejects more entries than the limit', async () => {
    for (let index = 0; index < 10; index += 1) writeFileSync(join(root, 'work', String(index)), '');
    await expect(scan(5)).rejects.toThrow('more than 5 files and directories');
  });
});
