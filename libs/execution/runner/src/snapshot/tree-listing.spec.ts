import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { placesIn, type SnapshotPlaces } from './open-directory.js';
import { scanWorkspace } from './scan-workspace.js';
import { listTree, TIME_STEP_MS, type TreeListing } from './tree-listing.js';

let root: string;
let places: SnapshotPlaces;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'headrace-listing-'));
  places = placesIn(root);
  for (const name of ['home', 'work', 'work/d', 'work/d/e']) mkdirSync(join(root, name));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function listed(pruned: Iterable<string> = [], earlier: TreeListing | null = null): TreeListing {
  const listing = listTree(places, new Set(pruned), 1000, earlier);
  if (listing === null) throw new Error('The tree was not listed.');
  return listing;
}
/** Resolves when the time of a change now is another one than that of all changes before. */
async function timePasses(): Promise<void> {
  for (const from = Date.now(); Date.now() <= from + TIME_STEP_MS;) await nextTurn();
}
const scan = (listing: TreeListing | null = null) => scanWorkspace({ places, maxEntries: 1000, listing });
const withoutMethods = ({ entries, problems, excluded, excludedDirectories }: Awaited<ReturnType<typeof scan>>) => ({
  entries,
  problems,
  excluded,
  excludedDirectories,
});

describe('listTree', () => {
  it.each(['work/.git/lfs/objects/ab/cd', 'work/.git/modules/m/lfs/objects/ab/cd', 'work/.git/annex/objects/ab/cd'])(
    'finds a new file in %s',
    async (directory) => {
      mkdirSync(join(root, directory), { recursive: true });
      writeFileSync(join(root, directory, 'before'), '', { mode: 0o444 });
      const before = listed();
      await timePasses();
      writeFileSync(join(root, directory, 'new'), '', { mode: 0o444 });
      const after = listed([], before);
      expect(after.isSame(before)).toBe(false);
      expect((await scan(after)).entries.map(({ key }) => key)).toContain(`${directory}/new`);
    },
  );

  it('leads to the same scan as reading each directory', async () => {
    for (const name of ['a\tb', 'a\nb', 'ü', ' ', '[x]*?\\', '-n', '\\t'])
      writeFileSync(join(root, 'work', name), name, { mode: 0o640 });
    writeFileSync(Buffer.concat([Buffer.from(join(root, 'work/')), Buffer.from([0xff, 0x09, 0xfe])]), 'x');
    symlinkSync('a\tb\nc', join(root, 'work/d/link'));
    symlinkSync(Buffer.from([0xff]), join(root, 'work/d/link-to-bytes'));
    execFileSync('mkfifo', [join(root, 'work/pipe')]);
    chmodSync(join(root, 'work/d/e'), 0o500);
    utimesSync(join(root, 'work/-n'), 1, -1.5);
    utimesSync(join(root, 'work/ü'), 1, 1_000_000_000.123);
    mkdirSync(join(root, 'home/.cache/deep'), { recursive: true });
    writeFileSync(join(root, 'home/.cache/deep/x'), 'x');
    writeFileSync(join(root, 'work/.headraceignore'), 'out/\n*.log\n!keep.log\n');
    for (const directory of ['out', 'd/out']) mkdirSync(join(root, 'work', directory));
    for (const file of ['out/x', 'd/out/y', 'd/z.log', 'd/keep.log']) writeFileSync(join(root, 'work', file), 'x');
    execFileSync('git', ['init', '-q', join(root, 'work/d/e/repository')]);

    const walked = withoutMethods(await scan());
    expect(walked.entries.length).toBeGreaterThan(30);
    expect(withoutMethods(await scan(listed()))).toEqual(walked);
    expect(walked.excludedDirectories).toEqual(new Set(['home/.cache', 'work/d/out', 'work/out']));
    expect(withoutMethods(await scan(listed(walked.excludedDirectories)))).toEqual(walked);
  });

  it('reads a directory that was not listed, when rules do not exclude it any more', async () => {
    mkdirSync(join(root, 'work/out [1]*/deep'), { recursive: true });
    writeFileSync(join(root, 'work/out [1]*/deep/file'), 'x');
    writeFileSync(join(root, 'work/.headraceignore'), 'out*/\n');
    const { excludedDirectories } = await scan();
    expect(excludedDirectories).toEqual(new Set(['work/out [1]*']));
    rmSync(join(root, 'work/.headraceignore'));
    const found = await scan(listed(excludedDirectories));
    expect(found.entries).toEqual((await scan()).entries);
    expect(found.entries.map(({ key }) => key)).toContain('work/out [1]*/deep/file');
  });

  it('does not list what is in excluded directories', () => {
    mkdirSync(join(root, 'work/out'));
    const before = listed(['work/out']);
    writeFileSync(join(root, 'work/out/more'), 'x');
    // The directory itself has another time.
    expect(listed(['work/out']).isSame(before)).toBe(false);
    const again = listed(['work/out']);
    appendFileSync(join(root, 'work/out/more'), 'y');
    expect(listed(['work/out']).isSame(again)).toBe(true);
    expect(listed().isSame(again)).toBe(false);
  });

  it.each([
    ['a new file', () => writeFileSync(join(root, 'work/new'), '')],
    ['other content of the same size', () => writeFileSync(join(root, 'work/file'), 'def')],
    ['other permissions', () => chmodSync(join(root, 'work/file'), 0o600)],
    ['another name', () => renameSync(join(root, 'work/file'), join(root, 'work/fil2'))],
    [
      'another file at the same path',
      () => {
        rmSync(join(root, 'work/file'));
        writeFileSync(join(root, 'work/file'), 'abc');
      },
    ],
    [
      'another target of a link',
      () => {
        rmSync(join(root, 'work/link'));
        symlinkSync('elsewher', join(root, 'work/link'));
      },
    ],
    ['a removed directory', () => rmSync(join(root, 'work/d'), { recursive: true })],
    [
      'another directory at the same path',
      () => {
        renameSync(join(root, 'work/d'), join(root, 'work/c'));
        mkdirSync(join(root, 'work/d'));
      },
    ],
    ['a file in a directory below', () => writeFileSync(join(root, 'work/d/e/new'), '')],
  ])('shows %s', async (_what, change) => {
    writeFileSync(join(root, 'work/file'), 'abc');
    symlinkSync('anywhere', join(root, 'work/link'));
    await timePasses();
    const before = listed();
    expect(listed().isSame(before)).toBe(true);
    expect(listed([], before).isSame(before)).toBe(true);
    change();
    expect(listed().isSame(before)).toBe(false);
    expect(listed([], before).isSame(listed())).toBe(true);
  });

  it('reads the names again that may have changed without a new time of their directory', () => {
    let earlier = listed();
    for (let count = 0; count < 500; count += 1) {
      writeFileSync(join(root, 'work/d', `file-${count}`), '');
      earlier = listed([], earlier);
      expect(earlier.isSame(listed())).toBe(true);
    }
  });

  it('reads a directory that was excluded before', async () => {
    mkdirSync(join(root, 'work/out'));
    writeFileSync(join(root, 'work/out/file'), '');
    await timePasses();
    expect(listed([], listed(['work/out'])).isSame(listed())).toBe(true);
    expect(listed(['work/out'], listed()).isSame(listed(['work/out']))).toBe(true);
  });

  it('lists nothing with too many entries and for a place that does not exist, and leaves the working directory', () => {
    const before = process.cwd();
    expect(listTree(places, new Set(), 3)).toBeNull();
    expect(listTree(placesIn(join(root, 'none')), new Set(), 1000)).toBeNull();
    expect(process.cwd()).toBe(before);
    listed();
    expect(process.cwd()).toBe(before);
  });
});
