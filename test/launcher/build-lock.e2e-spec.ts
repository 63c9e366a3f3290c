import { createHash } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkout, isRoot, Launched, NOBODY, removeDir, temporaryDir } from './launched.js';

const FUTURE = new Date('2100-01-01');

/** Copies of the scripts in a separate checkout: other tests hold the lock of this one. */
let root = '';
let directory = '';
let lock = '';
beforeEach(() => {
  root = temporaryDir();
  chmodSync(root, 0o755);
  cpSync(join(checkout, 'scripts/lib'), join(root, 'scripts/lib'), { recursive: true });
  mkdirSync(join(root, 'dist'));
  directory = temporaryDir();
  lock = join(root, 'dist/.headrace-build.lock');
});
afterEach(() => {
  removeDir(directory);
  removeDir(root);
});

/** Starts a process that prints `in` when it has acquired the lock, and holds the lock while the file `held` exists. */
function startLockHolder(held = '', account = {}): Launched {
  const script = `import { existsSync } from 'node:fs';
    import { withBuildLock } from ${JSON.stringify(join(root, 'scripts/lib/build-lock.mjs'))};
    await withBuildLock(async () => {
      console.log('in');
      while (existsSync(${JSON.stringify(held)})) await new Promise((resolve) => setTimeout(resolve, 20));
    }, 200);`;
  const env = { PATH: process.env.PATH ?? '', TMPDIR: directory };
  return new Launched(process.execPath, ['--input-type=module', '-e', script], { env, cwd: '/', ...account });
}

it('acquires the build lock although a file with a lock name exists in the shared temporary directory', async () => {
  const name = createHash('sha256').update(`${process.getuid?.()} ${root}`).digest('hex');
  const file = join(directory, `headrace-build-${name.slice(0, 16)}.lock`);
  writeFileSync(file, '1');
  utimesSync(file, FUTURE, FUTURE);
  expect(await startLockHolder().exit).toBe(0);
});

it('waits for the process that holds the build lock and prints its process id', async () => {
  const held = join(directory, 'held');
  writeFileSync(held, '');
  const first = startLockHolder(held);
  await first.says(/^in/m);
  const second = startLockHolder();
  const [, pid] = await second.says(/Waiting for process (\d+), which installs or builds in this directory/);
  expect(Number(pid)).toBe(first.child.pid);
  expect(second.output).not.toMatch(/^in/m);
  rmSync(held);
  expect([await first.exit, await second.exit]).toEqual([0, 0]);
  expect(existsSync(lock)).toBe(false);
});

it('replaces a build lock of an ended process or with a time in the future', async () => {
  for (const [pid, time] of [
    [4_194_304, new Date()],
    [process.pid, FUTURE],
  ] as const) {
    writeFileSync(lock, String(pid));
    utimesSync(lock, time, time);
    expect(await startLockHolder().exit).toBe(0);
  }
});

it.runIf(isRoot)('ignores the build lock of an ended process when the checkout is read-only', async () => {
  writeFileSync(lock, '4194304');
  const other = startLockHolder('', { uid: NOBODY, gid: NOBODY });
  expect(await other.exit).toBe(0);
  expect(readFileSync(lock, 'utf8')).toBe('4194304');
});
