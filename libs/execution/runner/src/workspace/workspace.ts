import { chmod, chown, lstat, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { makeDirectory } from '#platform/kernel';
import type { InPlace, HarnessDefinition } from '#execution/runner-protocol';
import { errorText, type RunnerLog } from '../runner-log.js';

/** The directory that workspaces lie in cannot be reached, such as a disk that is not mounted. */
export class WorkspacesMissingError extends Error {}

export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The one directory an execution may write to, mode 0700: `home/` (HOME, with the agent's settings and sessions),
 * `work/` (where commands and the agent start) and `tmp/` (TMPDIR, so that it counts and goes with the rest).
 */
export class Workspace {
  private constructor(
    readonly root: string,
    readonly runAs: RunAs | undefined,
    private readonly startIn: string | undefined,
    private readonly inPlace: InPlace | undefined,
  ) {}

  /**
   * Makes it, owned by `runAs` when given. The directories above must let that user through. `startIn`: the directory in
   * `work/` where commands and agent start, instead of `work/` itself. `inPlace`: somebody's own directories in place of
   * `work/` and `home/`, which are never changed here.
   */
  static async create(root: string, runAs?: RunAs, startIn?: string, inPlace?: InPlace): Promise<Workspace> {
    await makeRoot(root, runAs);
    if (!(await lstat(root)).isDirectory()) throw new Error(`${root} is not a directory.`);
    const workspace = new Workspace(root, runAs, startIn, inPlace);
    // The root last: nobody but us can reach in before everything is in place.
    for (const directory of [
      join(root, 'home'),
      workspace.base,
      ...(inPlace ? [] : [workspace.work]),
      workspace.tmp,
      workspace.artifacts,
      workspace.attachments,
      root,
    ]) {
      await makeDirectory(directory);
      await chmod(directory, 0o700);
      if (runAs) await chown(directory, runAs.uid, runAs.gid);
    }
    return workspace;
  }

  get home(): string {
    return this.inPlace?.home_dir ?? join(this.root, 'home');
  }

  /** Where repositories are cloned into. */
  get base(): string {
    return join(this.root, 'work');
  }

  /** Where commands and the agent start. */
  get work(): string {
    if (this.inPlace) return this.inPlace.work_dir;
    return this.startIn === undefined ? this.base : join(this.base, this.startIn);
  }

  /**
   * What is put here is handed in. Below TMPDIR: some agents may write only there and in the working directory, and that
   * one must start empty for `git clone <url> .`.
   */
  get artifacts(): string {
    return join(this.tmp, 'artifacts');
  }

  /** Files that the run was created with; not in the working directory for the same reason. */
  get attachments(): string {
    return join(this.tmp, 'attachments');
  }

  get tmp(): string {
    return join(this.root, 'tmp');
  }

  /** The directory that a file must lie in to be handed in. */
  boundsOf(path: string): string {
    return this.inPlace && path.startsWith(this.inPlace.work_dir + sep) ? this.inPlace.work_dir : this.root;
  }

  /** Call when no process of the execution is left. What cannot be removed is logged, not thrown. */
  async remove(log: RunnerLog): Promise<void> {
    await removeTree(this.root).catch((error: unknown) => {
      log.warn('the workspace could not be removed', { error: errorText(error) });
    });
  }
}

/** The host made the directory above. When it was removed since and is made here, users of agents must be able to pass through. */
async function makeRoot(root: string, runAs: RunAs | undefined): Promise<void> {
  const parent = dirname(root);
  try {
    if ((await makeDirectory(parent)) && runAs) await chmod(parent, 0o711);
    await makeDirectory(root);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new WorkspacesMissingError(`${parent}, the directory of the workspaces, is a link to what does not exist.`);
  }
}

/** Removes a directory with all that is in it, directories included whose permissions an agent has taken away. */
export async function removeTree(directory: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 3 } as const;
  try {
    await rm(directory, options);
  } catch {
    await restorePermissions(directory);
    await rm(directory, options);
  }
}

async function restorePermissions(directory: string): Promise<void> {
  try {
    await chmod(directory, 0o700);
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      if (entry.isDirectory()) await restorePermissions(join(directory, entry.name));
    }
  } catch {
    return; // somebody else's directory: the removal will say so
  }
}

/** Writes a file that must not exist yet. What a failure has left of it is removed, so that a second attempt can succeed. */
export async function writeNewFile(path: string, bytes: Uint8Array): Promise<void> {
  try {
    await writeFile(path, bytes, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(path, { force: true });
    throw error;
  }
}

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
