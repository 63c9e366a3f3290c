import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FetchedRef } from './mirror-types.js';

export interface RefRecord extends FetchedRef {
  /** What the other side had under the name; for an annotated tag not the commit. */
  readonly oid: string;
  /** When it was last compared with the other side, in milliseconds of the epoch. */
  readonly at: number;
}

const DIRECTORY = 'headrace';
const keyOf = (ref: string | undefined): string =>
  ref === undefined ? 'default' : createHash('sha256').update(ref).digest('hex').slice(0, 40);

/** The ref of a mirror that keeps what `ref` was. Each asked ref has one, so that shallow fetches do not undo each other. */
export const keptRef = (ref: string | undefined): string => `refs/headrace/${keyOf(ref)}`;

/** null: it was never fetched, or what is known cannot be read. */
export async function readRecord(mirror: string, ref: string | undefined): Promise<RefRecord | null> {
  try {
    return JSON.parse(await readFile(join(mirror, DIRECTORY, `${keyOf(ref)}.json`), 'utf8')) as RefRecord;
  } catch {
    return null;
  }
}

export async function writeRecord(mirror: string, ref: string | undefined, record: RefRecord): Promise<void> {
  const directory = join(mirror, DIRECTORY);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const draft = join(directory, `${randomUUID()}.draft`);
  await writeFile(draft, JSON.stringify(record), { mode: 0o600 });
  await rename(draft, join(directory, `${keyOf(ref)}.json`));
}
