import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  chmodSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { occupiedBytes, Workspace } from './workspace.js';
import { readTranscript } from './transcript-sync.js';

let base: string;
beforeEach(() => void (base = mkdtempSync(join(tmpdir(), 'headrace-workspace-'))));
afterEach(() => rmSync(base, { recursive: true, force: true }));
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

describe('a workspace', () => {
  it('is private, and is removed with any permissions', async () => {
    const workspace = Workspace.create(join(base, 'w'));
    for (const path of [workspace.root, workspace.home, workspace.work, workspace.tmp])
      expect(statSync(path).mode & 0o777).toBe(0o700);
    mkdirSync(join(workspace.work, 'locked', 'deep'), { recursive: true });
    chmodSync(join(workspace.work, 'locked'), 0);
    await workspace.remove(log);
    expect(existsSync(workspace.root)).toBe(false);
  });

  it('waits for the directory above while it is a broken link', () => {
    symlinkSync(join(base, 'not-mounted'), join(base, 'workspaces'));
    const root = join(base, 'workspaces', '7');
    const create = () => Workspace.create(root);
    expect(create).toThrow(`${join(base, 'workspaces')}, the directory of the workspaces, is a broken link`);
    mkdirSync(join(base, 'not-mounted'));
    expect(create()).toMatchObject({ root });
  });

  it.runIf(process.getuid?.() === 0)('is reachable by its user when the directory above had to be made again', () => {
    const workspace = Workspace.create(join(base, 'workspaces', '7'), { uid: 4711, gid: 4711 });
    expect(statSync(dirname(workspace.root)).mode & 0o777).toBe(0o711);
  });

  it('starts where a snapshot has the directory of the only repository, or in the working directory', () => {
    const [root, mine] = [join(base, 'w'), join(base, 'mine')];
    const hosted = Workspace.create(root, undefined, 'app');
    expect(hosted.work).toBe(join(root, 'work/app'));
    hosted.adoptStart(true);
    expect(hosted.work).toBe(join(root, 'work/app'));
    hosted.adoptStart(false);
    expect(hosted.work).toBe(join(root, 'work'));
    expect(existsSync(join(root, 'work/app'))).toBe(false);

    mkdirSync(join(mine, 'app'), { recursive: true });
    const inPlace = Workspace.create(join(base, 'x'), undefined, 'app', { work_dir: mine });
    expect(inPlace.work).toBe(mine);
    inPlace.adoptStart(false);
    expect(inPlace.work).toBe(mine);
    inPlace.adoptStart(true);
    expect(inPlace.work).toBe(join(mine, 'app'));
    expect(inPlace.places).toEqual({ work: mine });
  });

  it('rejects a file in its place', () => {
    writeFileSync(join(base, 'f'), '');
    expect(() => Workspace.create(join(base, 'f'))).toThrow();
  });
});

it('counts occupied blocks without holes and links', async () => {
  writeFileSync(join(base, 'a'), Buffer.alloc(100_000, 1));
  writeFileSync(join(base, 'sparse'), '');
  truncateSync(join(base, 'sparse'), 1_000_000_000);
  symlinkSync('/', join(base, 'root'));
  const bytes = await occupiedBytes(base, new AbortController().signal);
  expect(bytes).toBeGreaterThanOrEqual(100_000);
  expect(bytes).toBeLessThan(200_000);
});

describe('a transcript', () => {
  it('is restored once and read in whole lines', async () => {
    const workspace = Workspace.create(join(base, 'w'));
    const path = join(workspace.home, 'a', 'b', 's.jsonl');
    workspace.makeHomeDirectory(dirname(path));
    await workspace.writeNewFile(path, Buffer.from('{"a":1}\n{"b":'));
    expect(readFileSync(path, 'utf8')).toContain('"b"');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(Buffer.from((await readTranscript(path, base, 1_000))?.bytes ?? []).toString()).toBe('{"a":1}\n');
    await expect(workspace.writeNewFile(path, Buffer.from('x'))).rejects.toMatchObject({ code: 'EEXIST' });
  });

  it('is not read through links, outside the home directory, from another user, or when it is too long', async () => {
    const home = join(base, 'home');
    mkdirSync(home);
    writeFileSync(join(base, 'secret'), 'secret\n');
    symlinkSync(join(base, 'secret'), join(home, 'link'));
    symlinkSync(base, join(home, 'way-out'));
    writeFileSync(join(home, 'own'), 'line\n');
    expect(await readTranscript(join(home, 'link'), home, 1_000)).toBeNull();
    expect(await readTranscript(join(home, 'way-out', 'secret'), home, 1_000)).toBeNull();
    expect(await readTranscript(join(home, 'own'), home, 1_000, { uid: 12_345, gid: 12_345 })).toBeNull();
    expect(await readTranscript(join(home, 'own'), home, 2)).toBeNull();
    expect(await readTranscript(join(home, 'missing'), home, 1_000)).toBeNull();
    expect(await readTranscript(join(home, 'own'), home, 1_000)).not.toBeNull();
  });
});
