import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { MAIN } from '../support/installation.js';
import { checkout, removeDir, temporaryDir } from './launched.js';
import { isLong } from '../support/long-tests.js';

const run = promisify(execFile);

it.runIf(isLong)('runs commands of the program while the program is bundled again', { timeout: 120_000 }, async () => {
  const bundling = spawn(process.execPath, [join(checkout, 'scripts/bundle.mjs')], { stdio: 'inherit' });
  const ended = once(bundling, 'exit');
  let starts = 0;
  for (; bundling.exitCode === null; starts += 1) {
    // The help of a command is in a separate chunk, so the command loads several files of the bundle.
    const { stdout } = await run(process.execPath, [MAIN, 'token', 'list', '--help']);
    expect(stdout).toContain('Usage: headrace token list');
  }
  expect(await ended).toEqual([0, null]);
  expect(starts).toBeGreaterThan(1);
});

it.runIf(isLong)('removes the compiled code of another build, and keeps that of the same one', async () => {
  const cache = join(checkout, 'dist/.code-cache');
  // Stores its compiled code.
  await run(process.execPath, [MAIN, 'token', 'list', '--help']);
  const other = join(cache, '0000000000000000-0/up');
  mkdirSync(other, { recursive: true });
  writeFileSync(join(other, 'headrace.cjs'), 'compiled code');
  const before = readdirSync(cache);
  expect(before.length).toBeGreaterThan(1);
  await run(process.execPath, [join(checkout, 'scripts/bundle.mjs')]);
  const after = readdirSync(cache);
  expect(after).not.toContain('0000000000000000-0');
  // Processes of other tests that have other flags of V8 may have stored theirs meanwhile.
  expect(after).toEqual(expect.arrayContaining(before.filter((name) => name !== '0000000000000000-0')));
});

it('builds again after a change of a source, and not after the types of the API were generated', async () => {
  const root = temporaryDir();
  try {
    cpSync(join(checkout, 'scripts/lib'), join(root, 'scripts/lib'), { recursive: true });
    for (const directory of ['apps/console/src/api', 'libs']) mkdirSync(join(root, directory), { recursive: true });
    for (const file of ['package-lock.json', 'package.json', 'tsconfig.json', 'tsconfig.build.json'])
      cpSync(join(checkout, file), join(root, file));
    const { stamp } = (await import(join(root, 'scripts/lib/build.mjs'))) as { stamp: () => string };
    const before = stamp();
    writeFileSync(join(root, 'apps/console/src/api/schema.gen.ts'), 'export type Paths = never;\n');
    expect(stamp()).toBe(before);
    writeFileSync(join(root, 'apps/console/src/api/client.ts'), 'export {};\n');
    expect(stamp()).not.toBe(before);
  } finally {
    removeDir(root);
  }
});
