import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { RunnerHandover } from '#execution/runner-protocol';
import { findCommand } from './child-environment.js';

/** The Node.js that programs of the execution are executed with; null: the user of the agent can execute none. `path`: its `PATH`. */
export function findNode(path: () => string, runAs: RunnerHandover['run_as']): string | null {
  const isOwn = runAs === undefined || isForEverybody(process.execPath);
  const node = isOwn ? process.execPath : findCommand('node', path());
  return node !== null && (isOwn || isForEverybody(node)) ? node : null;
}

/** Whether any user can execute the file, by the permissions of the file and of the directories above it. */
function isForEverybody(path: string): boolean {
  try {
    if ((statSync(path).mode & 0o005) !== 0o005) return false;
    for (let directory = dirname(path); ; directory = dirname(directory)) {
      if ((statSync(directory).mode & 0o001) === 0) return false;
      if (directory === dirname(directory)) return true;
    }
  } catch {
    return false;
  }
}
