import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureDataDir, persistedSecret, readIfPresent, writePrivateFile } from './data-directory.js';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'headrace-files-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('a private file', () => {
  it('is replaced atomically, is readable by its owner only, and leaves no temporary file', () => {
    const file = join(directory, 'file');
    writePrivateFile(file, 'one');
    writePrivateFile(file, 'two');
    expect(readFileSync(file, 'utf8')).toBe('two');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['file']);
  });

  it('reads as null when it does not exist', () => {
    expect(readIfPresent(join(directory, 'none'))).toBeNull();
  });
});

describe('a persisted secret', () => {
  it('is generated once, from 32 random bytes', () => {
    const [file, other] = [join(directory, 'secret'), join(directory, 'other')];
    const secret = persistedSecret(file);
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
    expect(persistedSecret(file)).toBe(secret);
    expect(persistedSecret(other)).not.toBe(secret);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

describe('the data directory', () => {
  it('can be traversed by other users only when root created it', () => {
    const made = ensureDataDir(join(directory, 'deep', 'data'));
    expect(statSync(made).mode & 0o777).toBe(process.getuid?.() === 0 ? 0o711 : 0o700);
  });

  it('is rejected with the name of its setting when it is a file, a dangling link or cannot be created', () => {
    writeFileSync(join(directory, 'file'), '');
    symlinkSync(join(directory, 'absent', 'far'), join(directory, 'dangling'));
    for (const path of ['file', 'file/data', 'dangling', 'dangling/data'].map((name) => join(directory, name)))
      expect(() => ensureDataDir(path)).toThrow(`HEADRACE_DATA_DIR: ${path} cannot be used as a directory (E`);
    // The recursive mkdir of Node never returns here.
    expect(() => ensureDataDir('/proc/headrace/data')).toThrow('HEADRACE_DATA_DIR');
  });
});
