import { execFile } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where what several test files begin with is kept until the run ends; from test/global-setup.ts. */
    beginningsDir: string;
  }
}

const run = promisify(execFile);
const LOOK_MS = 50;
const PATIENCE_MS = 60_000;

/**
 * Puts an embedded PostgreSQL with the newest schema and nothing in it into a data directory that does not exist yet. It is
 * made once a test run, by `headrace migrate` of `main`, and copied: a start that makes its own takes two seconds of
 * processor time more. That those work is shown by test/launcher.
 */
export async function placeReadyDatabase(dataDir: string, main: string): Promise<void> {
  const ready = await readyDatabase(main);
  // A link leads to where others' clusters are: each start makes its own there.
  if (lstatSync(join(ready, 'postgres')).isSymbolicLink()) return;
  mkdirSync(join(dataDir, 'secrets'), { recursive: true, mode: 0o700 });
  // As a start makes it: as root, PostgreSQL has a user of its own.
  chmodSync(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
  const password = join('secrets', 'postgres-password');
  // `cp` keeps owners, which the file functions of Node do not.
  await run('cp', ['-a', join(ready, password), join(dataDir, password)]);
  await run('cp', ['-a', join(ready, 'postgres'), join(dataDir, 'postgres')]);
}

/** The data directory to copy from; made by the first file of the run that asks, while others wait. */
async function readyDatabase(main: string): Promise<string> {
  const ready = join(inject('beginningsDir'), 'database');
  const lock = `${ready}.lock`;
  const deadline = performance.now() + PATIENCE_MS;
  while (!existsSync(ready)) {
    if (isTaken(lock)) {
      if (performance.now() > deadline) throw new Error(`Nobody made ${ready} within ${PATIENCE_MS} ms.`);
      await delay(LOOK_MS);
      continue;
    }
    try {
      // Whoever was waited for may have made it between the two looks.
      if (existsSync(ready)) break;
      const making = `${ready}.new`;
      await run(process.execPath, [main, 'migrate'], {
        env: { PATH: process.env.PATH ?? '', HOME: making, LANG: 'C.UTF-8', HEADRACE_DATA_DIR: making },
      });
      renameSync(making, ready);
    } finally {
      rmSync(lock, { recursive: true });
    }
  }
  return ready;
}

function isTaken(lock: string): boolean {
  try {
    mkdirSync(lock);
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return true;
    throw error;
  }
}
