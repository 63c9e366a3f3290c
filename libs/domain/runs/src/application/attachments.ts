import { Injectable } from '@nestjs/common';
import { buffer } from 'node:stream/consumers';
import { LEASED } from '#execution/executions';
import { newUuid } from '#platform/kernel';
import { Database, statement } from '#platform/persistence';
import { ObjectStore, type StoredObject } from '#platform/storage';
import type { AttachmentInput, NewAttachment, StoredAttachment } from '../domain/attachment.js';

const COLUMNS = 'a.id, a.file_name, a.mime_type, a.size_bytes::float8 AS size_bytes, a.object_key';

const LIST = statement('attachments.list')`
  SELECT ${COLUMNS} FROM run_attachments a WHERE a.run_id = $1 AND a.position IS NOT NULL ORDER BY a.position`;
const LIST_INPUT = statement('attachments.list-input')`
  SELECT ${COLUMNS} FROM run_attachments a WHERE a.run_id = $1 AND a.position IS NOT NULL AND a.followup_id IS NULL ORDER BY a.position`;
const FIND_LEASED = statement('attachments.find-leased')`
  SELECT ${COLUMNS} FROM executions e LEFT JOIN run_attachments a ON a.run_id = e.run_id AND a.id = $3 WHERE ${LEASED}`;

@Injectable()
export class Attachments {
  constructor(
    private readonly database: Database,
    private readonly objects: ObjectStore,
  ) {}

  /** Stores the bytes, before the run is committed; the rows go with the run. What a failure leaves, the caller has noted for deletion. */
  async prepare(runId: string, inputs: readonly AttachmentInput[]): Promise<readonly NewAttachment[]> {
    const written = await Promise.allSettled(
      inputs.map(async ({ fileName, mimeType, content }, position): Promise<NewAttachment> => {
        const id = newUuid();
        const key = `attachments/${runId}/${id}`;
        const { sizeBytes } = await this.objects.put(key, content, { contentType: mimeType });
        return { id, position, file_name: fileName, mime_type: mimeType, size_bytes: sizeBytes, object_key: key };
      }),
    );
    return written.map((result) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
  }

  /** The content of the files that a run was created with, which are at most 14 MiB together. */
  async readAll(
    runId: string,
  ): Promise<
    | { readonly kind: 'found'; readonly attachments: readonly AttachmentInput[] }
    | { readonly kind: 'missing'; readonly fileName: string }
  > {
    const attachments: AttachmentInput[] = [];
    const stored = await this.database.query<StoredAttachment>(LIST_INPUT, [runId]);
    for (const { file_name: fileName, mime_type: mimeType, object_key: key } of stored) {
      const object = await this.objects.get(key);
      if (!object) return { kind: 'missing', fileName };
      attachments.push({ fileName, mimeType, content: await buffer(object.stream) });
    }
    return { kind: 'found', attachments };
  }

  /** Of the request that created the run and of its follow-ups, in the order in which they were sent. */
  list(runId: string): Promise<StoredAttachment[]> {
    return this.database.query<StoredAttachment>(LIST, [runId]);
  }

  linkTo({ object_key: key, file_name: fileName, mime_type: contentType }: StoredAttachment, ttlMs: number) {
    return this.objects.signedUrl(key, { ttlMs, fileName, contentType });
  }

  async readFor(
    executionId: string,
    leaseEpoch: number,
    attachmentId: string,
  ): Promise<StoredObject | 'none' | 'lease_lost'> {
    const values = [executionId, leaseEpoch, attachmentId];
    const [found] = await this.database.query<StoredAttachment | { object_key: null }>(FIND_LEASED, values);
    if (!found) return 'lease_lost';
    return (found.object_key !== null && (await this.objects.get(found.object_key))) || 'none';
  }
}
