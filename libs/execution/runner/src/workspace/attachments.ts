import { chown } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { AttachmentRef } from '#execution/runner-protocol';
import { type RetryOptions, retryTransient } from '../transient.js';
import { writeNewFile, type Workspace } from './workspace.js';

/** A file of the run, in the workspace. */
export interface PlacedAttachment {
  readonly ref: AttachmentRef;
  readonly path: string;
  readonly bytes: Buffer;
}

/**
 * Puts the files that the run was created with into the workspace, as the agent's own. To be called before anything else
 * runs in there: nobody can have laid a trap. Rejects when a file cannot be had. Transient faults are retried.
 */
export async function placeAttachments(
  refs: readonly AttachmentRef[],
  workspace: Workspace,
  fetch: (attachmentId: string) => Promise<Buffer | null>,
  retry: RetryOptions,
): Promise<PlacedAttachment[]> {
  const placed: PlacedAttachment[] = [];
  for (const ref of refs) {
    const path = join(workspace.attachments, checkedFileName(ref.file_name));
    const bytes = await retryTransient(() => fetch(ref.attachment_id), retry);
    if (bytes === null)
      throw new Error(`The file ${ref.file_name} that the run was created with is not stored any more.`);
    await retryTransient(() => writeNewFile(path, bytes), retry);
    await give(path, workspace);
    placed.push({ ref, path, bytes });
  }
  return placed;
}

async function give(path: string, { runAs }: Workspace): Promise<void> {
  if (runAs) await chown(path, runAs.uid, runAs.gid);
}

/** The control plane has checked it; a name that leads elsewhere is refused here as well. */
function checkedFileName(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('\0') || basename(name) !== name)
    throw new Error('The name of a file that the run was created with is not the name of a file.');
  return name;
}
