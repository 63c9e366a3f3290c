import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export interface WorkspacesPlace {
  /** Empty: below the data directory, or where agents' users can reach it. */
  readonly workspacesDir: string;
  readonly dataDir: string;
  /** The setting of `workspacesDir`, for error messages. Default: WORKSPACES_DIR. */
  readonly settingName?: string;
}

/**
 * The directory of workspaces: as configured, or below the data directory. As root each agent has a separate user, which
 * must be able to reach its workspace; when the data directory is not accessible to others, a directory under /var/tmp is
 * used. Throws when the users of agents could not enter it.
 */
export function openWorkspacesDir({ workspacesDir, dataDir, settingName = 'WORKSPACES_DIR' }: WorkspacesPlace): string {
  const isRoot = process.getuid?.() === 0;
  const directory = resolve(workspacesDir !== '' ? workspacesDir : defaultWorkspacesDir(dataDir, isRoot, settingName));
  mkdirSync(directory, { recursive: true, mode: isRoot ? 0o711 : 0o700 });
  // The umask may have narrowed it. Others may pass through to their own, never list.
  chmodSync(directory, isRoot ? 0o711 : 0o700);
  if (isRoot && !isReachableByOthers(directory)) {
    throw new Error(
      `${settingName} (${directory}) cannot be entered by the users that agents run as: allow others to pass through each directory above it.`,
    );
  }
  return directory;
}

function defaultWorkspacesDir(dataDir: string, isRoot: boolean, settingName: string): string {
  const defaultDirectory = join(dataDir, 'workspaces');
  if (!isRoot || isReachableByOthers(dataDir)) return defaultDirectory;
  const id = createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 12);
  const own = `/var/tmp/headrace-workspaces-${id}`;
  mkdirSync(own, { recursive: true, mode: 0o711 });
  const { uid, mode } = statSync(own);
  if (uid !== 0 || (mode & 0o022) !== 0)
    throw new Error(`${own} is not owned by root: set ${settingName} to a directory of root.`);
  return own;
}

/** Whether other users may pass through every directory from the root to this one. */
export function isReachableByOthers(directory: string): boolean {
  for (let current = resolve(directory); ; current = dirname(current)) {
    const stats = statSync(current, { throwIfNoEntry: false });
    if (stats && (stats.mode & 0o001) === 0) return false;
    if (current === dirname(current)) return true;
  }
}

/** Executions that have a workspace: directories are named by execution id. */
export function listWorkspaces(directory: string): string[] {
  return readdirSync(directory).filter(isExecutionId);
}

const MAX_ID = 2n ** 63n - 1n;

export const isExecutionId = (name: string): boolean => /^\d{1,19}$/.test(name) && BigInt(name) <= MAX_ID;
