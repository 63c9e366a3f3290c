import { Injectable } from '@nestjs/common';
import { Database, statement } from '#platform/persistence';
import type { NewAttachment, StoredAttachment } from '../domain/attachment.js';
import { LEASED } from '#execution/executions';

/**
 * A CTE that writes the attachments of new runs. Asks for CTEs `n (id uuid, attachments json)`, whose `attachments`
 * {@link toAttachmentsJson} made, and `t (at)`.
 */
export const INSERT_ATTACHMENTS = `a AS (
  INSERT INTO run_attachments (id, run_id, position, file_name, mime_type, size_bytes, object_key, created_at)
  SELECT x.id, n.id, x.position, x.file_name, x.mime_type, x.size_bytes, x.object_key, t.at FROM n CROSS JOIN t
   CROSS JOIN json_to_recordset(n.attachments) AS x (id uuid, position smallint, file_name text, mime_type text, size_bytes bigint, object_key text)
)`;

export function toAttachmentsJson(attachments: readonly NewAttachment[]): readonly object[] {
  return attachments.map(({ id, position, fileName, mimeType, sizeBytes, objectKey }) => ({
    id,
    position,
    file_name: fileName,
    mime_type: mimeType,
    size_bytes: sizeBytes,
    object_key: objectKey,
  }));
}

interface AttachmentRow {
  readonly id: string;
  readonly file_name: string;
  readonly mime_type: string;
  readonly size_bytes: string;
  readonly object_key: string;
}

const COLUMNS = 'a.id, a.file_name, a.mime_type, a.size_bytes, a.object_key';

const LIST = statement('attachments.list')`
  SELECT ${COLUMNS} FROM run_attachments a WHERE a.run_id = $1 ORDER BY a.position`;

const FIND_LEASED = statement('attachments.find-leased')`
  SELECT ${COLUMNS} FROM executions e LEFT JOIN run_attachments a ON a.run_id = e.run_id AND a.id = $3
  WHERE ${LEASED}`;

@Injectable()
export class AttachmentsStore {
  constructor(private readonly database: Database) {}

  async list(runId: string): Promise<StoredAttachment[]> {
    return (await this.database.query<AttachmentRow>(LIST, [runId])).map(toAttachment);
  }

  /** The attachment of the execution's run, through the runner's lease. */
  async findLeased(
    executionId: string,
    leaseEpoch: number,
    attachmentId: string,
  ): Promise<StoredAttachment | 'none' | 'lease_lost'> {
    const [row] = await this.database.query<AttachmentRow | { id: null }>(FIND_LEASED, [
      executionId,
      leaseEpoch,
      attachmentId,
    ]);
    if (!row) return 'lease_lost';
    return row.id === null ? 'none' : toAttachment(row);
  }
}

function toAttachment(row: AttachmentRow): StoredAttachment {
  return {
    id: row.id,
    fileName: row.file_name,
    mimeType: row.mime_type,
    sizeBytes: Number(row.size_bytes),
    objectKey: row.object_key,
  };
}
