import { chown, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { AttachmentRef } from '#libs/runner-protocol';
import { NoAnswerError } from '../protocol/control-plane.js';
import { backoffMs, sleep } from '../sleep.js';
import type { Workspace } from './workspace.js';

const TRIES = 4;

/** A file of the run, in the workspace. */
export interface PlacedAttachment {
  readonly ref: AttachmentRef;
  readonly path: string;
  readonly bytes: Buffer;
}

/**
 * Puts the files that the run was created with into the workspace, as the agent's own. To be called before anything else
 * runs in there: nobody can have laid a trap. Rejects when a file cannot be had.
 */
export async function placeAttachments(
  refs: readonly AttachmentRef[],
  workspace: Workspace,
  fetch: (attachmentId: string) => Promise<Buffer | null>,
): Promise<PlacedAttachment[]> {
  const placed: PlacedAttachment[] = [];
  for (const ref of refs) {
    const path = join(workspace.attachments, plainName(ref.file_name));
    const bytes = await persistently(() => fetch(ref.attachment_id));
    if (bytes === null)
      throw new Error(`The file ${ref.file_name} that the run was created with is not stored any more.`);
    await writeFile(path, bytes, { mode: 0o600, flag: 'wx' });
    await give(path, workspace);
    placed.push({ ref, path, bytes });
  }
  return placed;
}

async function give(path: string, { runAs }: Workspace): Promise<void> {
  if (runAs) await chown(path, runAs.uid, runAs.gid);
}

/** The control plane has checked it; a name that leads elsewhere is refused here as well. */
function plainName(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('\0') || basename(name) !== name)
    throw new Error('The name of a file that the run was created with is not the name of a file.');
  return name;
}

async function persistently<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof NoAnswerError) || attempt + 1 >= TRIES) throw error;
      await sleep(backoffMs(attempt, 200, 2_000));
    }
  }
}
