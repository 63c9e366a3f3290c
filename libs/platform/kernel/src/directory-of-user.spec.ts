import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inDirectoryOf } from './directory-of-user.js';

const UID = 4_000_001;
const directory = mkdtempSync(join(tmpdir(), 'headrace-directory-of-user-'));
const cat = (path: string): string =>
  spawnSync('/bin/cat', ['file'], { cwd: path, uid: UID, gid: UID, encoding: 'utf8' }).stdout;

describe.runIf(process.getuid?.() === 0)('a process of another user', () => {
  const [own, closed, link] = ['own', 'closed', 'own/link'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  beforeAll(() => {
    chmodSync(directory, 0o711);
    for (const path of [own, closed]) mkdirSync(path, { mode: 0o700 });
    mkdirSync(join(closed, 'open'), { mode: 0o755 });
    for (const path of [own, join(closed, 'open')]) writeFileSync(join(path, 'file'), 'text', { mode: 0o644 });
    symlinkSync(join(closed, 'open'), link);
    chownSync(own, UID, UID);
  });

  it('starts in a directory of theirs', () => {
    expect(inDirectoryOf(UID, own, cat)).toBe('text');
  });

  it('starts in no directory that is closed to them, through a link of theirs', () => {
    // What the function prevents.
    expect(cat(link)).toBe('text');
    expect(() => inDirectoryOf(UID, link, cat)).toThrow(`${link} is not a directory of the user ${UID}`);
  });

  it.each(['missing', 'own/file'])('does not start in %s', (name) => {
    expect(() => inDirectoryOf(UID, join(directory, name), cat)).toThrow(/ENOENT|ENOTDIR/);
  });
});
afterAll(() => rmSync(directory, { recursive: true }));
