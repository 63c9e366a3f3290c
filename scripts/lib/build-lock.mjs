import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inRoot } from './paths.mjs';

/** In the checkout, where only its owner can write: anybody could put a file into the shared temporary directory. */
const path = inRoot('dist/.headrace-build.lock');
export const LOCK_NAME = basename(path);

/** Nobody installs and builds for longer; beyond that the number in the file is somebody else's. */
const LONGEST_MS = 30 * 60_000;
const PAUSE_MS = 100;
const QUIET_MS = 3000;
/** A checkout that this user cannot write is not installed or built by it either. */
const READ_ONLY = ['EACCES', 'EPERM', 'EROFS'];

/** Lets one process at a time install and build in this checkout: three of ours may be started at the same moment. */
export async function withBuildLock(work, quietMs = QUIET_MS) {
  const begin = performance.now();
  let hasSaid = false;
  for (let state = take(); state !== 'taken'; state = take()) {
    if (state === 'read_only') return work();
    if (!hasSaid && performance.now() - begin >= quietMs) {
      hasSaid = true;
      console.log(
        `Waiting for process ${holder() ?? 'unknown'}, which installs or builds in this directory (${path}) …`,
      );
    }
    await delay(PAUSE_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

function take() {
  try {
    mkdirSync(inRoot('dist'), { recursive: true });
    writeFileSync(path, String(process.pid), { flag: 'wx', mode: 0o644 });
    return 'taken';
  } catch (error) {
    if (READ_ONLY.includes(error.code)) return 'read_only';
    if (error.code !== 'EEXIST') throw error;
    return holderIsAlive() ? 'held' : removeStale();
  }
}

function removeStale() {
  try {
    rmSync(path, { force: true });
    return 'held';
  } catch (error) {
    if (READ_ONLY.includes(error.code)) return 'read_only';
    throw error;
  }
}

function holderIsAlive() {
  try {
    const age = Date.now() - statSync(path).mtimeMs;
    // A time in the future was not written by a process that took the lock.
    return Math.abs(age) < LONGEST_MS && process.kill(Number(readFileSync(path, 'utf8')), 0);
  } catch (error) {
    // Gone in the meantime, or a number that nobody has; anything else is somebody's.
    return error.code !== 'ESRCH' && error.code !== 'ENOENT';
  }
}

function holder() {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Released in the meantime, or another user's.
    return null;
  }
}
