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
const COMMAND_MS = 10_000;

export interface RepositoryDiff {
  /** The commit to which the patch applies. */
  readonly commit: string;
  /** Empty: the work tree is as that commit. */
  readonly patch: Buffer;
  /** What the patch does not contain, for people. */
  readonly problem: string | null;
}

export interface RepositoryDiffOptions {
  readonly workspace: Pick<Workspace, 'places' | 'tmp' | 'runAs' | 'boundsOf'>;
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
  const { places, tmp, runAs } = workspace;
  const tree = { directory: join(places.work, name), runAs, environment, signal };
  const scratch = join(tmp, `diff-${newUuid()}`);
  const indexFile = join(scratch, 'index');
  const limit = Math.min(maxBytes, MAX_DIFF_BYTES);
  const shell = { runAs, environment };
  try {
    const start = await findStart(tree);
    if (start === null) return null;
    await execute(COPY, [scratch, (await hasIndex(tree.directory, workspace)) ? 'copy' : ''], { ...tree, ...shell });
    const { patch, unreadable } = await diffWorkTree({ ...tree, start, indexFile, maxBytes: limit });
    const problem = unreadable.length === 0 ? null : `does not contain what cannot be read: ${unreadable.join(', ')}`;
    return { commit: start, patch, problem };
  } catch (error) {
    if (!(error instanceof GitFailure) || error.reason === 'aborted') throw error;
    throw new DiffFailure(
      error.reason === 'too_large' ? `is too large: ${error.message}` : `could not be made: ${error.message}`,
    );
  } finally {
    await execute(REMOVE, [scratch], { ...shell, directory: '/' });
  }
}

const INDEX = '.git/index';
/** With its time: git reads files again that are not older than their index. */
const COPY = `mkdir -m 700 -- "$1" && [ -z "$2" ] || cp -p -- ${INDEX} "$1/index" || rm -f -- "$1/index"`;
const REMOVE = 'rm -rf -- "$1"';

/** An index that does not exist, or is not a file, is not copied. */
async function hasIndex(directory: string, workspace: RepositoryDiffOptions['workspace']): Promise<boolean> {
  const path = join(directory, INDEX);
  try {
    const { file, sizeBytes } = await openOwnFile(path, workspace.boundsOf(path), workspace.runAs);
    await file.close();
    return sizeBytes <= MAX_INDEX_BYTES;
  } catch (error) {
    if (error instanceof UnreadableFile) return false;
    throw error;
  }
}

/** Executes a script as the user of the agent, who can change the directories meanwhile. */
async function execute(
  script: string,
  args: readonly string[],
  {
    directory,
    runAs,
    environment,
    signal,
  }: Pick<RepositoryDiffOptions, 'environment'> & {
    readonly directory: string;
    readonly runAs: Workspace['runAs'];
    readonly signal?: AbortSignal;
  },
): Promise<void> {
  const process = await ManagedProcess.start({
    command: '/bin/sh',
    args: ['-c', script, 'sh', ...args],
    cwd: directory,
    env: { ...environment, PATH: searchPath() },
    stdin: 'ignore',
    runAs,
  });
  for (const output of [process.stdout, process.stderr]) output.resume();
  if (!(await process.exitsWithin(COMMAND_MS, signal))) process.signal('SIGKILL');
}
