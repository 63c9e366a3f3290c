import { execFile } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { withFileLock } from '../../libs/platform/git/src/file-lock.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where what several test files begin with is kept until the run ends; from test/global-setup.ts. */
    beginningsDir: string;
  }
}

const run = promisify(execFile);
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
  // As a start makes it: as root, PostgreSQL has its own user.
  chmodSync(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
  const password = join('secrets', 'postgres-password');
  // `cp` keeps owners, which the file functions of Node do not.
  await run('cp', ['-a', join(ready, password), join(dataDir, password)]);
  await run('cp', ['-a', join(ready, 'postgres'), join(dataDir, 'postgres')]);
}

/** The data directory to copy from; made by the first file of the run that asks, while others wait. */
async function readyDatabase(main: string): Promise<string> {
  const ready = join(inject('beginningsDir'), 'database');
  if (existsSync(ready)) return ready;
  await withFileLock(`${ready}.lock`, AbortSignal.timeout(PATIENCE_MS), async () => {
    // The process that was waited for has created it.
    if (existsSync(ready)) return;
    const making = `${ready}.new`;
    await run(process.execPath, [main, 'migrate'], {
      env: { PATH: process.env.PATH ?? '', HOME: making, LANG: 'C.UTF-8', HEADRACE_DATA_DIR: making },
    });
    renameSync(making, ready);
  });
  return ready;
}
