import { Injectable } from '@nestjs/common';
import { newUuid } from '#platform/kernel';
import { ObjectStore, type StoredObject } from '#platform/storage';
import type { AttachmentInput, NewAttachment, StoredAttachment } from '../domain/attachment.js';
import { AttachmentsStore } from '../persistence/attachments.store.js';

/** The files that a run was created with: their bytes in the object store, a row each. */
@Injectable()
export class Attachments {
  constructor(
    private readonly store: AttachmentsStore,
    private readonly objects: ObjectStore,
  ) {}

  /** Stores the bytes, before the run is committed; the rows go with the run. What a failure leaves, the caller has noted for deletion. */
  async prepare(runId: string, inputs: readonly AttachmentInput[]): Promise<readonly NewAttachment[]> {
    const written = await Promise.allSettled(
      inputs.map(async ({ fileName, mimeType, content }, position): Promise<NewAttachment> => {
        const id = newUuid();
        const objectKey = `${prefixOf(runId)}/${id}`;
        const { sizeBytes } = await this.objects.put(objectKey, content, { contentType: mimeType });
        return { id, position, fileName, mimeType, sizeBytes, objectKey };
      }),
    );
    const failure = written.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
    return written.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }

  /** In the request's order. One round trip. */
  list(runId: string): Promise<readonly StoredAttachment[]> {
    return this.store.list(runId);
  }

  /** A download link that works for `ttlMs`. */
  linkTo({ objectKey, fileName, mimeType }: StoredAttachment, ttlMs: number): Promise<string> {
    return this.objects.signedUrl(objectKey, { ttlMs, fileName, contentType: mimeType });
  }

  /** For the runner that places the file. */
  async readFor(
    executionId: string,
    leaseEpoch: number,
    attachmentId: string,
  ): Promise<StoredObject | 'none' | 'lease_lost'> {
    const found = await this.store.findLeased(executionId, leaseEpoch, attachmentId);
    if (found === 'lease_lost' || found === 'none') return found;
    return (await this.objects.get(found.objectKey)) ?? 'none';
  }
}

const prefixOf = (runId: string): string => `attachments/${runId}`;
