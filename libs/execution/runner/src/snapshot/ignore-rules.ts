import ignore, { type Ignore } from 'ignore';
import { GitFailure, listIgnored } from '#platform/git';
import type { RunAs } from '../workspace/workspace.js';

/** Patterns as in `.gitignore`, for snapshots only. A `!` includes what `.gitignore` excludes. */
export const IGNORE_FILE = '.headraceignore';

/** Below the home directory: what tools can fetch or build again. */
const CACHES = [
  '.cache/',
  '.npm/',
  '.yarn/',
  '.bun/install/cache/',
  '.local/share/pnpm/',
  '.cargo/registry/',
  '.cargo/git/',
  '.rustup/',
  '.gradle/',
  '.m2/repository/',
  '.nuget/',
  '.nvm/',
  'go/pkg/',
];

export const homeRules = (): Ignore => ignore().add(CACHES);

export const parseRules = (text: string): Ignore => ignore().add(text);

/** What a repository ignores: paths below it, directories with a slash at the end. Empty when git cannot say. */
export async function ignoredPaths(
  directory: string,
  runAs: RunAs | undefined,
  onProblem: (message: string) => void,
): Promise<ReadonlySet<string>> {
  try {
    return await listIgnored(directory, runAs);
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    onProblem(`The ignore rules of a repository could not be read: ${error.message}`);
    return new Set();
  }
}
