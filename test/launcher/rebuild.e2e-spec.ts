import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { MAIN } from '../support/installation.js';
import { checkout } from './launched.js';

const run = promisify(execFile);

it('runs commands of the program while the program is bundled again', { timeout: 60_000 }, async () => {
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
