import { chown } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { makeDirectory } from '#platform/kernel';
import type { HarnessDefinition } from '#execution/runner-protocol';
import type { Workspace } from './workspace.js';

const HOME = '{home}/';

/**
 * Makes the directories that variables of the harness name below the home directory: Codex insists on its own. To be
 * called before anything else runs in the workspace, as nobody can have laid a link in the way by then.
 */
export async function makeHomeDirectories({ env = {} }: HarnessDefinition, workspace: Workspace): Promise<void> {
  const { home, runAs } = workspace;
  for (const value of Object.values(env)) {
    const parts = value.startsWith(HOME) ? value.slice(HOME.length).split('/') : [];
    if (parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('{'))) continue;
    for (const [index] of parts.entries()) {
      const directory = join(home, parts.slice(0, index + 1).join(sep));
      await makeDirectory(directory);
      if (runAs) await chown(directory, runAs.uid, runAs.gid);
    }
  }
}
