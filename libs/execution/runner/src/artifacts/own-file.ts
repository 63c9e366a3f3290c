import { constants, existsSync, lstatSync, readlinkSync, realpathSync, type Dirent } from 'node:fs';
import { open, readdir, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import type { RunAs } from '../workspace/workspace.js';

/** One text for missing files and for files elsewhere: the runner may see directories that the agent may not. */
export const NOT_FOUND = 'does not exist, or is not in the workspace';

/** Without /proc the path is checked instead of the open file, which leaves a short race. */
const HAS_PROC = existsSync('/proc/self/fd');

// What only reads names is not worth a thread of the pool: that needs ten times the processor time.
const realPath = realpathSync.native;

export interface OwnFile {
  /** Closed by the caller. */
  readonly file: FileHandle;
  readonly sizeBytes: number;
  /** Changes with the file. */
  readonly version: string;
}

/** Why a path is not read; the message is for the person who started the run. */
export class UnreadableFile extends Error {}

/**
 * Opens a file that the agent controls. The runner may be root and must read only regular files of the execution's user
 * inside `root`: no link as last segment, none in the path that leads out, no pipe or device, nothing of another user.
 * The checks are on the open file, because the path may change in between.
 */
export async function openOwnFile(path: string, root: string, runAs?: RunAs): Promise<OwnFile> {
  const realRoot = realPath(root);
  let file: FileHandle;
  try {
    const real = join(realPath(dirname(path)), basename(path));
    if (!real.startsWith(realRoot + sep)) throw new UnreadableFile(NOT_FOUND);
    const before = lstatSync(real);
    if (before.isSymbolicLink()) throw new UnreadableFile('is a symbolic link');
    if (!before.isFile()) throw new UnreadableFile('is not a regular file');
    file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (error instanceof UnreadableFile) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new UnreadableFile(code === 'EMFILE' || code === 'EIO' ? `cannot be opened (${code})` : NOT_FOUND);
  }
  try {
    const stats = await file.stat();
    const owner = runAs?.uid ?? process.getuid?.() ?? stats.uid;
    if (!stats.isFile()) throw new UnreadableFile('is not a regular file');
    if (stats.uid !== owner) throw new UnreadableFile('belongs to another user');
    if (!isBelow(file, path, realRoot)) throw new UnreadableFile(NOT_FOUND);
    return { file, sizeBytes: stats.size, version: `${stats.ino}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}` };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The content and the version of a file that the agent controls, as {@link openOwnFile} opens it. */
export async function readOwnFile(
  path: string,
  root: string,
  runAs: RunAs | undefined,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer<ArrayBuffer>; readonly version: string }> {
  const { file, sizeBytes, version } = await openOwnFile(path, root, runAs);
  try {
    if (sizeBytes > maxBytes) throw new UnreadableFile(`is larger than ${maxBytes} bytes`);
    const bytes = Buffer.alloc(sizeBytes);
    const { bytesRead } = await file.read(bytes, 0, sizeBytes, 0);
    return { bytes: bytes.subarray(0, bytesRead), version };
  } finally {
    await file.close();
  }
}

/** Entries of a directory below `root`; none when it is missing, a link, or elsewhere: even names must not be disclosed. */
export async function listOwnDirectory(path: string, root: string): Promise<Dirent[]> {
  let directory: FileHandle;
  try {
    directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch {
    return []; // missing, not accessible, or not a directory
  }
  try {
    if (!isBelow(directory, path, realPath(root))) return [];
    // The directory that was checked, even if its path leads elsewhere now.
    return await readdir(HAS_PROC ? `/proc/self/fd/${directory.fd}` : path, { withFileTypes: true });
  } finally {
    await directory.close();
  }
}

function isBelow({ fd }: FileHandle, path: string, realRoot: string): boolean {
  const real = HAS_PROC ? readlinkSync(`/proc/self/fd/${fd}`) : realPath(path);
  return real.startsWith(realRoot + sep);
}
