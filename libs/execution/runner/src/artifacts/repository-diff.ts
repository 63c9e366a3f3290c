import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RepositoryRef } from '#execution/runner-protocol';
import { diffWorkTree, findStart, GitFailure } from '#platform/git';
import { newUuid } from '#platform/kernel';
import { searchPath } from '../process/child-environment.js';
import { ManagedProcess } from '../process/managed-process.js';
import type { Workspace } from '../workspace/workspace.js';

const MAX_DIFF_BYTES = 16 * 1_048_576;

export interface RepositoryDiff {
  /** The commit to which the patch applies. */
  readonly commit: string;
  /** Empty: the work tree is as that commit. */
  readonly patch: Buffer;
}

/** A reason for people why there is no patch. */
export class DiffFailure extends Error {}

/**
 * The changes of a cloned repository since the start of the run. Null: it was not cloned for this run, or is not there any more.
 * All programs run as the user of the agent, since what the agent has configured in the repository decides what git executes.
 */
export async function diffRepository(
  { directory: name }: Pick<RepositoryRef, 'directory'>,
  { base, tmp, runAs }: Pick<Workspace, 'base' | 'tmp' | 'runAs'>,
  { maxBytes = MAX_DIFF_BYTES, signal }: { readonly maxBytes?: number | undefined; readonly signal: AbortSignal },
): Promise<RepositoryDiff | null> {
  const directory = join(base, name);
  const start = await findStart({ directory, runAs, signal }).catch(withoutStart);
  if (start === null) return null;
  const indexFile = join(tmp, `index-${newUuid()}`);
  const limit = Math.min(maxBytes, MAX_DIFF_BYTES);
  try {
    await copy(start.index, indexFile, runAs);
    const patch = await diffWorkTree({ directory, indexFile, runAs, maxBytes: limit, signal });
    return { commit: start.commit, patch };
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    if (error.reason === 'too_large') throw new DiffFailure(`is larger than ${limit} bytes`);
    throw new DiffFailure(`could not be made: ${error.message}`);
  } finally {
    // Git leaves the second one when it is stopped.
    for (const path of [indexFile, `${indexFile}.lock`]) await rm(path, { force: true });
  }
}

function withoutStart(error: unknown): null {
  const isMissing =
    error instanceof GitFailure ? error.reason !== 'aborted' : (error as NodeJS.ErrnoException).code === 'ENOTDIR';
  if (isMissing) return null;
  throw error;
}

/**
 * With its time: git reads files again that are not older than their index. An index that does not exist is not copied, and git
 * reads all files then.
 */
async function copy(from: string, to: string, runAs: Workspace['runAs']): Promise<void> {
  const env = { PATH: searchPath() };
  const args = ['-p', '--', from, to];
  const copying = await ManagedProcess.start({ command: 'cp', args, cwd: '/', env, stdin: 'ignore', runAs });
  for (const output of [copying.stdout, copying.stderr]) output.resume();
  await copying.exited;
}
