import { Injectable } from '@nestjs/common';
import type { Readable } from 'node:stream';
import { newUuid } from '#platform/kernel';
import { Database, statement } from '#platform/persistence';
import { MAX_TRANSCRIPT_BYTES } from '#execution/runner-protocol';
import { ObjectDisposal, ObjectStore, type StoredObject } from '#platform/storage';
import { ExecutionsStore, LEASED } from '../persistence/executions.store.js';

/** `runs.transcript`: where the newest raw transcript lies, and what wrote it. */
export interface TranscriptPointer {
  readonly key: string;
  readonly format: string;
  readonly session_id: string;
}

type LeasedTranscript = { run_id: string; transcript: TranscriptPointer | null };

const FIND_LEASED = statement('transcripts.leased')`
  SELECT e.run_id, r.transcript FROM executions e JOIN runs r ON r.id = e.run_id
  WHERE ${LEASED}`;
const POINT = statement('transcripts.point')`
  WITH before AS (SELECT r.id, r.transcript->>'key' AS key FROM runs r JOIN executions e ON e.run_id = r.id
     WHERE e.id = $1 AND e.lease_epoch = $2 AND e.ended_at IS NULL FOR NO KEY UPDATE OF r)
  UPDATE runs SET transcript = $3::jsonb FROM before WHERE runs.id = before.id RETURNING before.key AS old_key`;
const POINTER = statement('transcripts.pointer')`SELECT transcript FROM runs WHERE id = $1`;

/** Raw transcripts: the agent's own session file, replaced after every turn, and what a later execution resumes from. */
@Injectable()
export class Transcripts {
  constructor(
    private readonly database: Database,
    private readonly objects: ObjectStore,
    private readonly disposal: ObjectDisposal,
    private readonly executions: ExecutionsStore,
  ) {}

  /**
   * Stores under a new key, then moves the run's pointer: a reader never sees half a file. The old object goes later, so
   * that links to it keep working for their time.
   */
  async store(
    executionId: string,
    leaseEpoch: number,
    body: Readable,
    meta: { format: string; sessionId: string },
  ): Promise<'stored' | 'lease_lost'> {
    const leased = await this.leased(executionId, leaseEpoch);
    if (!leased) return 'lease_lost';
    const key = keyFor(leased.run_id);
    await this.objects.put(key, body, { contentType: 'application/x-ndjson', maxBytes: MAX_TRANSCRIPT_BYTES });
    const pointer: TranscriptPointer = { key, format: meta.format, session_id: meta.sessionId };
    const isMoved = await this.database.transaction(async (tx) => {
      const [moved] = await tx.query<{ old_key: string | null }>(POINT, [
        executionId,
        leaseEpoch,
        JSON.stringify(pointer),
      ]);
      if (moved?.old_key) await this.disposal.discard(tx, [moved.old_key]);
      return moved !== undefined;
    });
    if (isMoved) return 'stored';
    await this.objects.delete(key);
    return 'lease_lost';
  }

  async readFor(executionId: string, leaseEpoch: number): Promise<StoredObject | 'none' | 'lease_lost'> {
    const leased = await this.leased(executionId, leaseEpoch);
    if (!leased) return 'lease_lost';
    return leased.transcript ? ((await this.objects.get(leased.transcript.key)) ?? 'none') : 'none';
  }

  /** Null when the earlier run has no transcript. The pointer goes into the new run's row. */
  async copyFor(sourceRunId: string, newRunId: string): Promise<TranscriptPointer | null> {
    const [row] = await this.database.query<{ transcript: TranscriptPointer | null }>(POINTER, [sourceRunId]);
    const source = row?.transcript;
    const found = source && (await this.objects.get(source.key));
    if (!found) return null;
    const key = keyFor(newRunId);
    try {
      await this.objects.put(key, found.stream, { contentType: found.contentType });
    } finally {
      found.stream.destroy();
    }
    return { ...source, key };
  }

  /** Through the runner's lease, which the call renews: the runner counts on it. */
  private async leased(executionId: string, leaseEpoch: number): Promise<LeasedTranscript | null> {
    if ((await this.executions.renew(executionId, leaseEpoch)) === null) return null;
    const [leased] = await this.database.query<LeasedTranscript>(FIND_LEASED, [executionId, leaseEpoch]);
    return leased ?? null;
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

const keyFor = (runId: string): string => `transcripts/${runId}/${newUuid()}.jsonl`;
