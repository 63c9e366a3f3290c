import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { withFileLock } from '../../libs/platform/git/src/file-lock.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where what several test files begin with is kept until the run ends; from test/global-setup.ts. */
    beginningsDir: string;
  }
}

const PATIENCE_MS = 60_000;

/** A directory to copy from; created by the first file of the run that asks, while others wait. */
export async function beginning(name: string, create: (directory: string) => Promise<unknown>): Promise<string> {
  const ready = join(inject('beginningsDir'), name);
  if (existsSync(ready)) return ready;
  await withFileLock(`${ready}.lock`, AbortSignal.timeout(PATIENCE_MS), async () => {
    // The process that was waited for has created it.
    if (existsSync(ready)) return;
    await create(`${ready}.new`);
    renameSync(`${ready}.new`, ready);
  });
  return ready;
}
