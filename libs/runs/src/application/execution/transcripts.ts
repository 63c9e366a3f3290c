import { Injectable } from '@nestjs/common';
import type { Readable } from 'node:stream';
import { newUuid } from '#libs/kernel';
import { Database, type Statement } from '#libs/persistence';
import { MAX_TRANSCRIPT_BYTES } from '#libs/runner-protocol';
import { ObjectStore, type StoredObject } from '#libs/storage';

interface TranscriptPointer {
  readonly key: string;
  readonly format: string;
  readonly session_id: string;
}

const LEASED: Statement = {
  name: 'transcripts.leased',
  text: `SELECT e.run_id, r.transcript FROM executions e JOIN runs r ON r.id = e.run_id
  WHERE e.id = $1 AND e.lease_epoch = $2 AND e.phase <> 'offered' AND e.ended_at IS NULL AND (e.fence_at IS NULL OR e.fence_at > headrace.now())`,
};
const POINT: Statement = {
  name: 'transcripts.point',
  text: `WITH before AS (SELECT r.id, r.transcript->>'key' AS key FROM runs r JOIN executions e ON e.run_id = r.id
     WHERE e.id = $1 AND e.lease_epoch = $2 AND e.ended_at IS NULL FOR NO KEY UPDATE OF r)
  UPDATE runs SET transcript = $3::jsonb FROM before WHERE runs.id = before.id RETURNING before.key AS old_key`,
};
const POINTER: Statement = { name: 'transcripts.pointer', text: `SELECT transcript FROM runs WHERE id = $1` };

/** Raw transcripts: the agent's own session file, replaced after every turn, and what a later execution resumes from. */
@Injectable()
export class Transcripts {
  constructor(
    private readonly database: Database,
    private readonly objects: ObjectStore,
  ) {}

  /** Stores under a new key, then moves the run's pointer, then drops the old object: a reader never sees half a file. */
  async store(
    executionId: string,
    leaseEpoch: number,
    body: Readable,
    meta: { format: string; sessionId: string },
  ): Promise<'stored' | 'lease_lost'> {
    const [leased] = await this.database.query<{ run_id: string }>(LEASED, [executionId, leaseEpoch]);
    if (!leased) return 'lease_lost';
    const key = `transcripts/${leased.run_id}/${newUuid()}.jsonl`;
    await this.objects.put(key, body, { contentType: 'application/x-ndjson', maxBytes: MAX_TRANSCRIPT_BYTES });
    const pointer: TranscriptPointer = { key, format: meta.format, session_id: meta.sessionId };
    const [moved] = await this.database.query<{ old_key: string | null }>(POINT, [
      executionId,
      leaseEpoch,
      JSON.stringify(pointer),
    ]);
    const obsolete = moved ? moved.old_key : key;
    if (obsolete !== null) await this.objects.delete(obsolete);
    return moved ? 'stored' : 'lease_lost';
  }

  /** For the runner that resumes the session. */
  async readFor(executionId: string, leaseEpoch: number): Promise<StoredObject | 'none' | 'lease_lost'> {
    const [leased] = await this.database.query<{ transcript: TranscriptPointer | null }>(LEASED, [
      executionId,
      leaseEpoch,
    ]);
    if (!leased) return 'lease_lost';
    return leased.transcript ? ((await this.objects.get(leased.transcript.key)) ?? 'none') : 'none';
  }

  /** A time-limited download link, or null when the run has no transcript. */
  async linkTo(runId: string, ttlMs: number): Promise<string | null> {
    const [row] = await this.database.query<{ transcript: TranscriptPointer | null }>(POINTER, [runId]);
    if (!row?.transcript) return null;
    return this.objects.signedUrl(row.transcript.key, {
      ttlMs,
      fileName: `${runId}.jsonl`,
      contentType: 'application/x-ndjson',
    });
  }
}
