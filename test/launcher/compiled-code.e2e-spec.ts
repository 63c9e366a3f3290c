import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
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

  it('is stored once, too, by a command that calls the API', async () => {
    const server = createServer((_, response) => response.writeHead(401).end('{}')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const list = (): Promise<unknown> =>
      promisify(execFile)(process.execPath, [join(root, 'dist/headrace.cjs'), 'run', 'list'], {
        cwd: '/',
        env: { ...process.env, HEADRACE_URL: url, HEADRACE_TOKEN: 'hr_none' },
      }).catch((error: unknown) => expect(String(error)).toContain('run list'));
    try {
      await list();
      const written = [...stored().keys()].map((path) => statSync(path).mtimeMs);
      expect(written.length).toBeGreaterThan(2);
      await list();
      expect([...stored().keys()].map((path) => statSync(path).mtimeMs)).toEqual(written);
    } finally {
      server.close();
    }
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
