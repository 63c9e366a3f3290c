import { withBuildLock } from './build-lock.mjs';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { requireNode } from './node-version.mjs';

/** Everything between a fresh clone and a program that can be started; quick when nothing is to be done. */
export async function prepare() {
  requireNode();
  await withBuildLock(async () => {
    await ensureInstalled();
    await ensureBuilt();
  });
}
