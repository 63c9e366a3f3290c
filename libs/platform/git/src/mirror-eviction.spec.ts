import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GitFixture, GitServer } from '#testing';
import { withFileLock } from './file-lock.js';
import type { Mirror } from './mirror.js';
import { MirrorCache, type MirrorCacheOptions } from './mirror-cache.js';

const MEGABYTE = 1_000_000;
const HOUR = 3_600_000;

let root: string;
let server: GitServer;
let directory: string;
let caches = 0;
let time: number;
const clock = { now: () => new Date(time) };

/** Repositories of a bit more than a megabyte each. */
const NAMES = ['a', 'b', 'c', 'd'];

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'headrace-eviction-'));
  for (const name of NAMES) {
    const work = new GitFixture(join(root, 'work', name));
    work.commit({ large: randomBytes(MEGABYTE) });
    work.publish(join(root, 'served', `${name}.git`));
  }
  server = await GitServer.start({ root: join(root, 'served') });
});
afterAll(async () => {
  await server.stop();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(() => {
  directory = join(root, `mirrors-${(caches += 1)}`);
  time = Date.now();
});

const urlOf = (name: string): string => `${server.url}/${name}.git`;
const open = (options: Partial<MirrorCacheOptions> = {}): MirrorCache =>
  new MirrorCache({ directory, clock, maxTotalBytes: 2.5 * MEGABYTE, ...options });
const later = (ms: number): void => void (time += ms);
const isThere = ({ path }: Mirror): boolean => existsSync(path);
/** One after the other, an hour between them. */
async function fetchAll(mirrors: MirrorCache, names: readonly string[]): Promise<Mirror[]> {
  const fetched: Mirror[] = [];
  for (const name of names) {
    fetched.push(await mirrors.mirror({ url: urlOf(name) }));
    later(HOUR);
  }
  return fetched;
}

describe('eviction of mirrors', () => {
  it('removes the least recently used mirror, which is fetched again when it is requested', async () => {
    const mirrors = open();
    const [a, b] = await fetchAll(mirrors, ['a', 'b']);
    await mirrors.mirror({ url: urlOf('a') });
    later(HOUR);
    const [c] = await fetchAll(mirrors, ['c']);
    expect([a, b, c].map((mirror) => mirror && isThere(mirror))).toEqual([true, false, true]);
    expect(readdirSync(directory).filter((name) => !/\.git(\.bytes)?$/.test(name))).toEqual(['salt']);
    expect(readdirSync(directory).filter((name) => name.endsWith('.bytes'))).toHaveLength(2);
    const again = await mirrors.mirror({ url: urlOf('b') });
    expect(await again.list((await again.resolve()) ?? '')).toHaveLength(1);
  });

  it('is not made while there is some, nor for what did not grow', async () => {
    const roomy = open({ maxTotalBytes: 10 * MEGABYTE });
    const all = await fetchAll(roomy, NAMES);
    const strict = open({ maxTotalBytes: MEGABYTE });
    await strict.mirror({ url: urlOf('a') });
    expect(all.map(isThere)).toEqual([true, true, true, true]);
  });

  it('keeps what is read, and the one that it is made for, whatever they take', async () => {
    const mirrors = open({ maxTotalBytes: MEGABYTE });
    const [a] = await fetchAll(mirrors, ['a']);
    expect(a && isThere(a)).toBe(true);
    expect(await a?.list((await a.resolve()) ?? '')).toHaveLength(1);
    const [b] = await fetchAll(mirrors, ['b']);
    expect([a, b].map((mirror) => mirror && isThere(mirror))).toEqual([true, true]);
    const [c] = await fetchAll(mirrors, ['c']);
    expect([a, b, c].map((mirror) => mirror && isThere(mirror))).toEqual([false, false, true]);
  });

  it('keeps one that is being brought up to date, however long ago it was used', async () => {
    const mirrors = open();
    const [a, b] = await fetchAll(mirrors, ['a', 'b']);
    // As a process that updates it does.
    await withFileLock(`${a?.path ?? ''}.lock`, AbortSignal.timeout(60_000), () => fetchAll(mirrors, ['c']));
    expect([a, b].map((mirror) => mirror && isThere(mirror))).toEqual([true, false]);
    await fetchAll(mirrors, ['d']);
    expect(a && isThere(a)).toBe(false);
  });

  it('is reckoned by sizes that were noted, and measured where none was', async () => {
    const mirrors = open({ maxTotalBytes: 4.5 * MEGABYTE });
    const [a, b] = await fetchAll(mirrors, ['a', 'b']);
    writeFileSync(join(b?.path ?? '', 'unnoticed'), randomBytes(3 * MEGABYTE));
    utimesSync(b?.path ?? '', clock.now(), new Date(time - HOUR));
    await fetchAll(mirrors, ['c']);
    expect([a, b].map((mirror) => mirror && isThere(mirror))).toEqual([true, true]);
    rmSync(`${b?.path ?? ''}.bytes`);
    await fetchAll(mirrors, ['d']);
    expect(a && isThere(a)).toBe(false);
    expect(b && isThere(b)).toBe(false);
  });

  it('is not made twice by two at once', async () => {
    await fetchAll(open({ maxTotalBytes: 10 * MEGABYTE }), ['a', 'b', 'c']);
    const limit = { maxTotalBytes: 3.5 * MEGABYTE };
    const local = (name: string) => ({ url: join(root, 'work', name) });
    await Promise.all(['d', 'c'].map((name) => open({ ...limit, localRoots: [root] }).mirror(local(name))));
    expect(readdirSync(directory).filter((name) => name.endsWith('.git'))).toHaveLength(3);
  });

  it('loses what was not used for two weeks, and what was left half made', async () => {
    const mirrors = open({ maxTotalBytes: 100 * MEGABYTE });
    const [a, b] = await fetchAll(mirrors, ['a', 'b']);
    later(13 * 24 * HOUR);
    await mirrors.mirror({ url: urlOf('b') });
    later(2 * 24 * HOUR);
    const [old, young] = [join(directory, 'old.draft'), join(directory, 'young.draft')];
    for (const draft of [old, young]) mkdirSync(draft);
    utimesSync(old, 1, 1);
    await fetchAll(mirrors, ['c']);
    expect([a, b].map((mirror) => mirror && isThere(mirror))).toEqual([false, true]);
    expect([old, young].map((draft) => existsSync(draft))).toEqual([false, true]);
  });

  it('is no reason to refuse a mirror: what cannot be removed stays', async () => {
    const mirrors = open({ maxTotalBytes: MEGABYTE });
    const [a] = await fetchAll(mirrors, ['a']);
    rmSync(`${a?.path ?? ''}.bytes`);
    mkdirSync(`${a?.path ?? ''}.bytes`);
    const [b] = await fetchAll(mirrors, ['b']);
    expect([a, b].map((mirror) => mirror && isThere(mirror))).toEqual([true, true]);
    expect(readFileSync(join(b?.path ?? '', 'HEAD'), 'utf8')).toContain('ref:');
  });
});
