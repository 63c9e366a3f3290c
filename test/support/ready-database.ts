import { execFile } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beginning } from './beginnings.js';

const run = promisify(execFile);

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

const readyDatabase = (main: string): Promise<string> =>
  beginning('database', (directory) =>
    run(process.execPath, [main, 'migrate'], {
      env: { PATH: process.env.PATH ?? '', HOME: directory, LANG: 'C.UTF-8', HEADRACE_DATA_DIR: directory },
    }),
  );
