import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The built command line within an installation, for children that are started from it. */
export const PROGRAM = 'dist/headrace.cjs';

/** The directory that this program is installed in, found from wherever this file runs (build or sources). */
export function findInstallation(): string {
  const directory = findDirectoryWith(PROGRAM);
  if (directory === null) throw new Error(`The built command line ${PROGRAM} was not found: run \`npm run build\`.`);
  return directory;
}

export const findProgram = (): string => join(findInstallation(), PROGRAM);

/** This file runs from the sources, from what was compiled of them, or from the bundle. Throws when the files are missing. */
export function findShipped(path: string): string {
  const directory = findDirectoryWith(path);
  if (directory === null) throw new Error(`The installation is incomplete: ${path} is missing.`);
  return join(directory, path);
}

/** The nearest directory above this file that contains the path. */
function findDirectoryWith(path: string): string | null {
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    if (existsSync(join(directory, path))) return directory;
    if (directory === dirname(directory)) return null;
  }
}

export function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(join(findInstallation(), 'package.json'), 'utf8')) as { version: string };
  return version;
}
