import { randomBytes } from 'node:crypto';
import { open, readFile, rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { DoctorCheck } from '../doctor-check.js';
import { fail, type Finding, ok, warn } from '../finding.js';
import { reasonOf } from '../reason.js';

const MIB = 1_048_576;
const GIB = 1024 * MIB;
const TIGHT_BYTES = 2 * GIB;
const TOO_LITTLE_BYTES = 256 * MIB;

interface Place {
  readonly label: string;
  readonly path: string;
  /** Names the setting that moves it. */
  readonly setting: string;
}

/** The data directory, the workspaces and the temporary directory: there or to be made, writable, with room. */
export const diskCheck: DoctorCheck = {
  name: 'disk',
  uses: ['HEADRACE_DATA_DIR'],
  examine: ({ settings: { dataDir, workspacesDir }, environment, options: { isWorker } }) => {
    const places: Place[] = [
      ...(isWorker ? [] : [{ label: 'data directory', path: dataDir, setting: 'HEADRACE_DATA_DIR' }]),
      ...(workspacesDir === '' ? [] : [{ label: 'workspaces', path: workspacesDir, setting: 'WORKSPACES_DIR' }]),
      { label: 'temporary directory', path: environment.TMPDIR ?? tmpdir(), setting: 'TMPDIR' },
    ];
    return Promise.all(places.map(lookAt));
  },
};

async function lookAt(place: Place): Promise<Finding> {
  const { label, path, setting } = place;
  let near: string;
  try {
    near = await nearestDirectory(path);
    await tryOut(near);
  } catch (error) {
    return fail(
      `${label} ${path} cannot be written (${reasonOf(error)})`,
      `Let user ${process.getuid?.() ?? ''} write there, or set ${setting} to a directory that it may write.`,
    );
  }
  const owner = near === path ? (await stat(path)).uid : null;
  const isOurs = owner === null || owner === process.getuid?.() || setting === 'TMPDIR';
  const { bavail, bsize } = await statfs(near);
  const room = judgeRoom(bavail * bsize, label, path, setting);
  if (room.verdict !== 'ok' || isOurs)
    return near === path ? room : { ...room, found: `${room.found}; made at the first start` };
  return warn(
    `${room.found}; belongs to user ${owner}, and this is user ${process.getuid?.() ?? ''}`,
    `Run this and all of Headrace as user ${owner}.`,
  );
}

/** `freeBytes`: what an ordinary user may still write. */
export function judgeRoom(freeBytes: number, label: string, path: string, setting: string): Finding {
  const found = `${label} ${path}: ${inWords(freeBytes)} free`;
  const fix = `Free some space, or set ${setting} to a directory on a larger disk.`;
  if (freeBytes < TOO_LITTLE_BYTES) return fail(found, fix);
  return freeBytes < TIGHT_BYTES ? warn(found, fix) : ok(found);
}

const inWords = (bytes: number): string =>
  bytes < GIB ? `${Math.floor(bytes / MIB)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`;

/** The directory itself, or the first one above it that is there. */
async function nearestDirectory(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    try {
      if ((await stat(at)).isDirectory()) return at;
      throw Object.assign(new Error(`${at} is no directory`), { code: 'ENOTDIR' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || at === dirname(at)) throw error;
    }
  }
}

/** Writes a file down to the disk, reads it again and removes it. */
export async function tryOut(directory: string): Promise<void> {
  const path = join(directory, `.headrace-doctor-${randomBytes(6).toString('hex')}`);
  const content = randomBytes(4096);
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
    await file.close();
    if (!content.equals(await readFile(path))) throw new Error('what was written is not what is read');
  } finally {
    // Closing twice is no error.
    await file.close();
    await rm(path, { force: true });
  }
}
