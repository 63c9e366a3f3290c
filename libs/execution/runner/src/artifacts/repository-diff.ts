import { unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { RepositoryRef } from '#execution/runner-protocol';
import { diffWorkTree, findStart, GitFailure } from '#platform/git';
import { newUuid } from '#platform/kernel';
import { searchPath } from '../process/child-environment.js';
import { ManagedProcess } from '../process/managed-process.js';
import type { Workspace } from '../workspace/workspace.js';
import { openOwnFile, UnreadableFile } from './own-file.js';

const MAX_DIFF_BYTES = 16 * 1_048_576;
const MAX_INDEX_BYTES = 256 * 1_048_576;
const COPY_MS = 10_000;

export interface RepositoryDiff {
  /** The commit to which the patch applies. */
  readonly commit: string;
  /** Empty: the work tree is as that commit. */
  readonly patch: Buffer;
}

export interface RepositoryDiffOptions {
  readonly workspace: Pick<Workspace, 'base' | 'tmp' | 'runAs' | 'boundsOf'>;
  readonly maxBytes?: number | undefined;
  /** Of the processes, so that a sweep finds what they start. */
  readonly environment: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** A reason for people why there is no patch. */
export class DiffFailure extends Error {}

/**
 * The changes of a cloned repository since the start of the run. Null: it was not cloned for this run, or is not there any more.
 * All programs run as the user of the agent, since what the agent has configured in the repository decides what git executes.
 * To be called while the processes of the execution are still to be swept, for the same reason.
 */
export async function diffRepository(
  { directory: name }: Pick<RepositoryRef, 'directory'>,
  { workspace, maxBytes = MAX_DIFF_BYTES, environment, signal }: RepositoryDiffOptions,
): Promise<RepositoryDiff | null> {
  const { base, tmp, runAs } = workspace;
  const tree = { directory: join(base, name), runAs, environment, signal };
  const indexFile = join(tmp, `index-${newUuid()}`);
  const limit = Math.min(maxBytes, MAX_DIFF_BYTES);
  try {
    const commit = await findStart(tree);
    if (commit === null) return null;
    await copyIndex(tree.directory, indexFile, workspace, environment, signal);
    return { commit, patch: await diffWorkTree({ ...tree, indexFile, maxBytes: limit }) };
  } catch (error) {
    if (!(error instanceof GitFailure) || error.reason === 'aborted') throw error;
    throw new DiffFailure(
      error.reason === 'too_large' ? `is too large: ${error.message}` : `could not be made: ${error.message}`,
    );
  } finally {
    // Git leaves the second one when it is stopped.
    for (const path of [indexFile, `${indexFile}.lock`]) removeFile(path);
  }
}

/**
 * With its time: git reads files again that are not older than their index. An index that does not exist, or is not a file, is not
 * copied, and git reads all files then.
 */
async function copyIndex(
  directory: string,
  to: string,
  workspace: RepositoryDiffOptions['workspace'],
  environment: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const from = join(directory, '.git/index');
  try {
    const { file, sizeBytes } = await openOwnFile(from, workspace.boundsOf(from), workspace.runAs);
    await file.close();
    if (sizeBytes > MAX_INDEX_BYTES) return;
  } catch (error) {
    if (error instanceof UnreadableFile) return;
    throw error;
  }
  const env = { ...environment, PATH: searchPath() };
  const args = ['-p', '--', from, to];
  const copying = await ManagedProcess.start({
    command: 'cp',
    args,
    cwd: '/',
    env,
    stdin: 'ignore',
    runAs: workspace.runAs,
  });
  for (const output of [copying.stdout, copying.stderr]) output.resume();
  if (!(await copying.exitsWithin(COPY_MS, signal))) copying.signal('SIGKILL');
}

/** The agent can change the directory meanwhile. It cannot have a file of this name where it may not remove it. */
function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    return; // It does not exist, or the directory is removed with the workspace.
  }
}
