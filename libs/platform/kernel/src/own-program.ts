import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The built command line within an installation, for children that are started from it. */
export const PROGRAM = 'dist/headrace.js';

/** The directory that this program is installed in, found from wherever this file runs (build or sources). */
export function findInstallation(): string {
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    if (existsSync(join(directory, PROGRAM))) return directory;
    if (directory === dirname(directory))
      throw new Error(`The built command line ${PROGRAM} was not found: run \`npm run build\`.`);
  }
}

/** The path of the built command line. */
export const findProgram = (): string => join(findInstallation(), PROGRAM);

/** The version of the installed package. */
export function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(join(findInstallation(), 'package.json'), 'utf8')) as { version: string };
  return version;
}
