import { existsSync } from 'node:fs';
import { withBuildLock } from './build-lock.mjs';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { requireNode } from './node-version.mjs';
import { inRoot } from './paths.mjs';

/**
 * Everything between a fresh clone and a program that can be started; quick when nothing is to be done. `onInstalled`: called
 * before the build, which uses one processor for most of its time.
 */
export async function prepare(onInstalled = () => undefined) {
  requireNode();
  // An installed package comes built, with its packages beside it.
  if (!existsSync(inRoot('tsconfig.build.json'))) return;
  await withBuildLock(async () => {
    await ensureInstalled();
    onInstalled();
    await ensureBuilt();
  });
}
