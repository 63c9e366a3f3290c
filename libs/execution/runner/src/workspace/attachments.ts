import { basename, join, relative } from 'node:path';
import { type AttachmentRef, isEventPayloadFile } from '#execution/runner-protocol';
import { writeFileBelow } from '../snapshot/open-directory.js';
import { isTransient, type TransientOptions, retryTransient } from '../transient.js';
import { errorText } from '../runner-log.js';
import type { Workspace } from './workspace.js';

export interface PlacedAttachment {
  readonly ref: AttachmentRef;
  readonly path: string;
  readonly bytes: Buffer;
}

interface AttachmentFilesOptions {
  readonly workspace: Workspace;
  /** Null: it is not stored any more. */
  readonly fetch: (attachmentId: string) => Promise<Buffer | null>;
  readonly retry: TransientOptions;
}

/** The files of a run in its workspace, and those that come with its follow-ups. */
export class AttachmentFiles {
  /** Ids of attachments. */
  private readonly placed = new Set<string>();
  private newestEventPayload: PlacedAttachment | null = null;

  /** Of the event that has started the run or, last, continued it. */
  get eventPayload(): PlacedAttachment | null {
    return this.newestEventPayload;
  }

  constructor(private readonly options: AttachmentFilesOptions) {}

  /** Must run before anything else in the workspace: no link can redirect a file yet. Rejects when one is missing. */
  async place(refs: readonly AttachmentRef[]): Promise<PlacedAttachment[]> {
    const { workspace, retry } = this.options;
    const files: PlacedAttachment[] = [];
    for (const ref of refs) {
      const file = await this.fetch(ref);
      await retryTransient(() => workspace.writeNewFile(file.path, file.bytes), retry);
      this.placed.add(ref.attachment_id);
      files.push(file);
    }
    return files;
  }

  /**
   * Files of a follow-up, which may come while processes of the agent work in the workspace. One that cannot be placed does not
   * end the session: `problems` has a sentence for the agent.
   */
  async placeBesideAgent(
    refs: readonly AttachmentRef[],
  ): Promise<{ readonly files: PlacedAttachment[]; readonly problems: string[] }> {
    const { workspace, retry } = this.options;
    const files: PlacedAttachment[] = [];
    const problems: string[] = [];
    let isUnreachable = false;
    for (const ref of refs) {
      try {
        // The rest is not waited for as long again.
        if (isUnreachable) throw new Error('The files of the run could not be read.');
        const file = await this.fetch(ref);
        if (!this.placed.has(ref.attachment_id))
          writeFileBelow(workspace.root, relative(workspace.root, file.path), file.bytes, workspace.runAs);
        this.placed.add(ref.attachment_id);
        files.push(file);
      } catch (error) {
        if (retry.signal.aborted) throw error;
        isUnreachable ||= isTransient(error);
        problems.push(`The attached file ${ref.file_name} could not be stored in the workspace: ${errorText(error)}`);
      }
    }
    return { files, problems };
  }

  private async fetch(ref: AttachmentRef): Promise<PlacedAttachment> {
    const { workspace, fetch, retry } = this.options;
    const path = join(workspace.attachments, checkedFileName(ref.file_name));
    const bytes = await retryTransient(() => fetch(ref.attachment_id), retry);
    if (bytes === null) throw new Error(`The attachment ${ref.file_name} of the run is not stored any more.`);
    const file = { ref, path, bytes };
    if (isEventPayloadFile(ref.file_name)) this.newestEventPayload = file;
    return file;
  }
}

/** The control plane has checked the name; a name that leads elsewhere is rejected here as well. */
function checkedFileName(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('\0') || basename(name) !== name)
    throw new Error('The name of an attachment of the run is not a valid file name.');
  return name;
}
