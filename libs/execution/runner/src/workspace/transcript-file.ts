import { constants } from 'node:fs';
import { chown, open, realpath, type FileHandle } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { makeDirectory } from '#platform/kernel';
import { writeNewFile } from './new-file.js';
import type { RunAs } from './workspace.js';

/** Puts a stored transcript where the harness will look for it. To be called before anything else runs in the workspace. */
export async function placeTranscript(path: string, bytes: Uint8Array, home: string, runAs?: RunAs): Promise<void> {
  let directory = home;
  for (const part of relative(home, dirname(path)).split(sep)) {
    directory = join(directory, part);
    await makeDirectory(directory);
    if (runAs) await chown(directory, runAs.uid, runAs.gid);
  }
  await writeNewFile(path, bytes);
  if (runAs) await chown(path, runAs.uid, runAs.gid);
}

export interface TranscriptSnapshot {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Changes whenever the file does. */
  readonly version: string;
}

/**
 * Reads the transcript, whole lines only. The file lies in the agent's hands and the runner may be root: it is read
 * only when it is a plain file of the execution's own user inside its home. null when there is none to read.
 */
export async function readTranscript(
  path: string,
  home: string,
  maxBytes: number,
  runAs?: RunAs,
): Promise<TranscriptSnapshot | null> {
  let file: FileHandle;
  try {
    if (!(await realpath(dirname(path))).startsWith(await realpath(home))) return null;
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    const stats = await file.stat();
    const owner = runAs?.uid ?? process.getuid?.() ?? stats.uid;
    if (!stats.isFile() || stats.uid !== owner || stats.size > maxBytes) return null;
    const bytes = Buffer.alloc(stats.size);
    const { bytesRead } = await file.read(bytes, 0, stats.size, 0);
    const whole = bytes.subarray(0, bytesRead);
    const lastLine = whole.lastIndexOf(0x0a);
    const lines = lastLine < 0 ? whole : whole.subarray(0, lastLine + 1);
    return lines.length === 0 ? null : { bytes: lines, version: `${stats.size}:${stats.mtimeMs}` };
  } finally {
    await file.close();
  }
}
