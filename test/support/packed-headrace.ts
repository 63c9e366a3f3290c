import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beginning } from './beginnings.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The npm package, as a file. It is packed once a test run. */
export async function packedHeadrace(): Promise<string> {
  const directory = await beginning('package', async (place) => {
    mkdirSync(place, { recursive: true });
    await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', place], {
      cwd: ROOT,
      maxBuffer: 16_777_216,
    });
  });
  const [file = ''] = readdirSync(directory);
  return join(directory, file);
}
