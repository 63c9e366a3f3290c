import { Injectable } from '@nestjs/common';
import { Readable } from 'node:stream';
import { Settings } from '#platform/config';
import { newUuid } from '#platform/kernel';
import { Database, type Queryable, statement } from '#platform/persistence';
import { discardNamed, keepDiscarded, ObjectDisposal, ObjectStore, SignedLinks } from '#platform/storage';
import { type AttachmentInput, MAX_ATTACHMENT_BYTES, uniqueNames } from '../domain/attachment.js';

/** Files that are prepared for a run and not sent with a follow-up: more of them replace the oldest. */
export const MAX_PREPARED = 50;
/** All files of a run, which every execution of it has in its workspace. */
export const MAX_FILES_OF_RUN = 200;
export const MAX_BYTES_OF_RUN = 100 * 1_048_576;

export interface PreparedAttachment {
  readonly id: string;
  /** For one PUT request with the content, without a token. */
  readonly uploadUrl: string;
}

/** A file of a follow-up. */
export interface AttachmentChoice {
  readonly id: string;
  /** In place of the name with which it was prepared. */
  readonly fileName?: string | undefined;
}

export type AttachResult =
  | { readonly kind: 'attached' }
  /** It was not prepared for this run, not uploaded, or sent before. */
  | { readonly kind: 'unknown_attachment'; readonly index: number }
  | { readonly kind: 'too_many_files' };

const PREPARE = statement('attachments.prepare')`WITH prepared AS (
    INSERT INTO run_attachments (id, run_id, file_name, mime_type, created_at)
    SELECT id, $1, file_name, mime_type, headrace.now() FROM unnest($2::uuid[], $3::text[], $4::text[]) AS f (id, file_name, mime_type)),
  replaced AS (
    DELETE FROM run_attachments WHERE position IS NULL AND id IN (SELECT id FROM run_attachments
      WHERE run_id = $1 AND position IS NULL ORDER BY created_at DESC, id
      OFFSET greatest(0, ${MAX_PREPARED} - cardinality($2::uuid[])) FOR UPDATE SKIP LOCKED)
    RETURNING object_key)
  ${discardNamed('SELECT object_key FROM replaced WHERE object_key IS NOT NULL', '$5')}`;
const DISCARD = statement('attachments.discard')`WITH discarded AS (
    DELETE FROM run_attachments WHERE id = ANY($1::uuid[]) AND position IS NULL RETURNING object_key)
  ${discardNamed('SELECT object_key FROM discarded WHERE object_key IS NOT NULL', '$2')}`;
const FIND_PREPARED = statement('attachments.find-prepared')`
  SELECT run_id AS "runId", mime_type AS "mimeType" FROM run_attachments WHERE id = $1 AND position IS NULL`;
/** Only while the object is noted for deletion: later it may be deleted already. */
const STORE_UPLOAD = statement('attachments.store-upload')`WITH before AS (
    SELECT id, object_key FROM run_attachments WHERE id = $1 AND position IS NULL FOR UPDATE),
  kept AS (${keepDiscarded('SELECT $2::text FROM before')} RETURNING name),
  discarded AS (${discardNamed('SELECT object_key FROM before WHERE object_key IS NOT NULL', '$4')})
  UPDATE run_attachments a SET object_key = $2, size_bytes = $3 FROM before, kept WHERE a.id = before.id RETURNING a.id`;
/** The caller holds the lock of the run; the rows are locked against an upload that ends now. */
const LOCK_CHOSEN = statement('attachments.lock-chosen')`
  SELECT id, file_name AS "fileName", size_bytes::float8 AS "sizeBytes" FROM run_attachments
   WHERE run_id = $1 AND id = ANY($2::uuid[]) AND position IS NULL AND size_bytes IS NOT NULL FOR UPDATE`;
const SENT = statement('attachments.sent')`
  SELECT coalesce(array_agg(file_name), '{}') AS names, coalesce(sum(size_bytes), 0)::float8 AS bytes,
    coalesce(max(position), -1)::int AS "lastPosition" FROM run_attachments WHERE run_id = $1 AND position IS NOT NULL`;
const SEND = statement('attachments.send')`
  UPDATE run_attachments a SET followup_id = $1, position = f.position, file_name = f.file_name
    FROM unnest($2::uuid[], $3::int[], $4::text[]) AS f (id, position, file_name) WHERE a.id = f.id`;
type Upload =
  | { readonly kind: 'stored' }
  /** It was sent meanwhile, replaced by newer ones, or its run does not exist any more. */
  | { readonly kind: 'not_found' };

/** Files that are sent with follow-ups: prepared, uploaded through a signed link, then named by the follow-up. */
@Injectable()
export class FollowupAttachments {
  constructor(
    private readonly database: Database,
    private readonly objects: ObjectStore,
    private readonly disposal: ObjectDisposal,
    private readonly links: SignedLinks,
    private readonly settings: Settings,
  ) {}

  /** In the order of `files`. One round trip. */
  async prepare(
    runId: string,
    files: readonly { readonly fileName: string; readonly mimeType: string }[],
  ): Promise<PreparedAttachment[]> {
    const ids = files.map(() => newUuid());
    const [names, types] = [files.map(({ fileName }) => fileName), files.map(({ mimeType }) => mimeType)];
    await this.database.query(PREPARE, [runId, ids, names, types, this.disposal.delayMs]);
    return ids.map((id) => ({ id, uploadUrl: this.uploadUrl(id) }));
  }

  /** Prepares and stores files with their content, for a follow-up that is sent next. */
  async store(runId: string, files: readonly AttachmentInput[]): Promise<readonly AttachmentChoice[]> {
    if (files.length === 0) return [];
    const prepared = await this.prepare(runId, files);
    for (const [index, { content }] of files.entries())
      await this.upload(prepared[index]?.id ?? '', Readable.from([content]));
    return prepared.map(({ id }) => ({ id }));
  }

  /** Repeated uploads replace the content until the file is sent. Rejects with ObjectTooLargeError. */
  async upload(id: string, content: Readable): Promise<Upload> {
    const [found] = await this.database.query<{ runId: string; mimeType: string }>(FIND_PREPARED, [id]);
    if (!found) return { kind: 'not_found' };
    const key = `attachments/${found.runId}/${newUuid()}`;
    await this.disposal.discard(this.database, [key]);
    const options = { contentType: found.mimeType, maxBytes: MAX_ATTACHMENT_BYTES };
    const { sizeBytes } = await this.objects.put(key, content, options);
    const stored = await this.database.query(STORE_UPLOAD, [id, key, sizeBytes, this.disposal.delayMs]);
    return { kind: stored.length > 0 ? 'stored' : 'not_found' };
  }

  /** Prepared files that are not sent after all. */
  async discard(choices: readonly AttachmentChoice[]): Promise<void> {
    if (choices.length > 0) await this.database.query(DISCARD, [choices.map(({ id }) => id), this.disposal.delayMs]);
  }

  /** The caller holds the lock of the run. Names of files are unique in a run: they are files of one directory. */
  async send(
    tx: Queryable,
    runId: string,
    followupId: string,
    choices: readonly AttachmentChoice[],
  ): Promise<AttachResult> {
    const ids = choices.map(({ id }) => id);
    type Chosen = { id: string; fileName: string; sizeBytes: number };
    const [chosen, [sent]] = await Promise.all([
      tx.query<Chosen>(LOCK_CHOSEN, [runId, ids]),
      tx.query<{ names: string[]; bytes: number; lastPosition: number }>(SENT, [runId]),
    ]);
    const found = new Map(chosen.map((file) => [file.id, file]));
    const index = ids.findIndex((id, at) => !found.has(id) || ids.indexOf(id) < at);
    if (index >= 0) return { kind: 'unknown_attachment', index };
    const { names, bytes, lastPosition } = sent ?? { names: [], bytes: 0, lastPosition: -1 };
    const allBytes = chosen.reduce((sum, { sizeBytes }) => sum + sizeBytes, bytes);
    if (names.length + ids.length > MAX_FILES_OF_RUN || allBytes > MAX_BYTES_OF_RUN) return { kind: 'too_many_files' };
    const wanted = choices.map(({ id, fileName }) => fileName ?? found.get(id)?.fileName ?? '');
    const positions = ids.map((_id, at) => lastPosition + 1 + at);
    await tx.query(SEND, [followupId, ids, positions, uniqueNames(wanted, names)]);
    return { kind: 'attached' };
  }

  private uploadUrl(id: string): string {
    const query = this.links.query({ key: uploadKey(id) }, this.settings.signedUrlTtl);
    return `${this.settings.publicUrl}/uploads/attachments/${id}?${query.toString()}`;
  }
}

/** What the signature of an upload link names; no object has a key with this beginning. */
export const uploadKey = (id: string): string => `uploads/attachments/${id}`;
