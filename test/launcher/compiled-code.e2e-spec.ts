import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ORDINARY_USER } from '../support/ordinary-user.js';
import { checkout, removeDir, temporaryDir } from './launched.js';

let root: string;
let cache: string;

beforeEach(() => {
  root = temporaryDir();
  mkdirSync(join(root, 'dist'));
  for (const part of ['dist/headrace.cjs', 'dist/chunks', 'package.json'])
    cpSync(join(checkout, part), join(root, part), { recursive: true });
  symlinkSync(join(checkout, 'node_modules'), join(root, 'node_modules'));
  cache = join(root, 'dist/.code-cache');
});
afterEach(() => removeDir(root));

const help = (account: { uid?: number; gid?: number } = {}): string =>
  execFileSync(process.execPath, [join(root, 'dist/headrace.cjs'), 'token', 'list', '--help'], {
    encoding: 'utf8',
    cwd: '/',
    ...account,
  });

/** Paths and contents of the stored files. */
const stored = (): Map<string, Buffer> =>
  new Map(
    readdirSync(cache, { recursive: true, encoding: 'utf8' })
      .map((name) => join(cache, name))
      .filter((path) => statSync(path).isFile())
      .map((path) => [path, readFileSync(path)]),
  );

describe('the compiled code of the program', () => {
  it('is stored by the first process of a command, and not again by the next one', () => {
    expect(help()).toContain('Usage: headrace token list');
    const files = stored();
    expect(files.size).toBeGreaterThan(2);
    const written = [...files.keys()].map((path) => statSync(path).mtimeMs);
    expect(help()).toContain('Usage: headrace token list');
    expect([...stored().keys()]).toEqual([...files.keys()]);
    expect([...files.keys()].map((path) => statSync(path).mtimeMs)).toEqual(written);
  });

  it('is compiled and stored again when a stored file cannot be used', () => {
    help();
    const files = stored();
    for (const [path, content] of files) writeFileSync(path, content.subarray(0, content.length / 2));
    expect(help()).toContain('Usage: headrace token list');
    const sizes = (all: Map<string, Buffer>): number => [...all.values()].reduce((sum, { length }) => sum + length, 0);
    expect(sizes(stored())).toBeGreaterThan(sizes(files) / 2);
  });

  it.skipIf(ORDINARY_USER === null)('is not stored in an installation that belongs to another user', () => {
    expect(help(ORDINARY_USER ?? {})).toContain('Usage: headrace token list');
    expect(() => stored()).toThrow('ENOENT');
  });
});
