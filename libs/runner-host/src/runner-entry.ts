import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The compiled command line, found from wherever this file runs (build or sources). */
export function findRunnerEntry(): string {
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    const entry = join(directory, 'dist/apps/headrace/src/main.js');
    if (existsSync(entry)) return entry;
    if (directory === dirname(directory))
      throw new Error('The built command line dist/apps/headrace/src/main.js was not found: run `npm run build`.');
  }
}
