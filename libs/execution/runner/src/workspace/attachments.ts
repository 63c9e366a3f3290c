import { basename, join } from 'node:path';
import type { AttachmentRef } from '#execution/runner-protocol';
import { type TransientOptions, retryTransient } from '../transient.js';
import type { Workspace } from './workspace.js';

export interface PlacedAttachment {
  readonly ref: AttachmentRef;
  readonly path: string;
  readonly bytes: Buffer;
}

/** Must run before anything else in the workspace: no link can redirect a file yet. Rejects when one is missing. */
export async function placeAttachments(
  refs: readonly AttachmentRef[],
  workspace: Workspace,
  fetch: (attachmentId: string) => Promise<Buffer | null>,
  retry: TransientOptions,
): Promise<PlacedAttachment[]> {
  const placed: PlacedAttachment[] = [];
  for (const ref of refs) {
    const path = join(workspace.attachments, checkedFileName(ref.file_name));
    const bytes = await retryTransient(() => fetch(ref.attachment_id), retry);
    if (bytes === null) throw new Error(`The attachment ${ref.file_name} of the run is not stored any more.`);
    await retryTransient(() => workspace.writeNewFile(path, bytes), retry);
    placed.push({ ref, path, bytes });
  }
  return placed;
}

/** The control plane has checked the name; a name that leads elsewhere is rejected here as well. */
function checkedFileName(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('\0') || basename(name) !== name)
    throw new Error('The name of an attachment of the run is not a valid file name.');
  return name;
}
