import { createHash } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { root } from './paths.mjs';

const path = join(
  tmpdir(),
  `headrace-build-${createHash('sha256').update(`${process.getuid?.()} ${root}`).digest('hex').slice(0, 16)}.lock`,
);

/** Nobody installs and builds for longer; beyond that the number in the file is somebody else's. */
const LONGEST_MS = 30 * 60_000;

/** Lets one process at a time install and build in this checkout: three of ours may be started at the same moment. */
export async function withBuildLock(work) {
  while (!take()) await delay(100);
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

function take() {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (!holderIsAlive()) rmSync(path, { force: true });
    return false;
  }
}

function holderIsAlive() {
  try {
    return Date.now() - statSync(path).mtimeMs < LONGEST_MS && process.kill(Number(readFileSync(path, 'utf8')), 0);
  } catch (error) {
    // Gone in the meantime, or a number that nobody has; anything else is somebody's.
    return error.code !== 'ESRCH' && error.code !== 'ENOENT';
  }
}
