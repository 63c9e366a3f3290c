import { Injectable } from '@nestjs/common';
import type { Readable } from 'node:stream';
import { newUuid } from '#platform/kernel';
import { Database, statement } from '#platform/persistence';
import { MAX_TRANSCRIPT_BYTES } from '#execution/runner-protocol';
import { discardNamed, ObjectDisposal, ObjectStore, type StoredObject } from '#platform/storage';
import { ExecutionsStore } from '../persistence/executions.store.js';

/** `runs.transcript`: where the newest raw transcript lies, and what wrote it. */
export interface TranscriptPointer {
  readonly key: string;
  readonly format: string;
  readonly session_id: string;
}

/** The old object is discarded. `$4`: see {@link discardNamed}. */
const POINT = statement('transcripts.point')`
  WITH before AS (SELECT r.id, r.transcript->>'key' AS key FROM runs r JOIN executions e ON e.run_id = r.id
     WHERE e.id = $1 AND e.lease_epoch = $2 AND e.ended_at IS NULL FOR NO KEY UPDATE OF r),
  discarded AS (${discardNamed('SELECT key FROM before WHERE key IS NOT NULL', '$4')})
  UPDATE runs SET transcript = $3::jsonb FROM before WHERE runs.id = before.id RETURNING runs.id`;
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
    const runId = await this.executions.renewOfRun(executionId, leaseEpoch);
    if (runId === null) return 'lease_lost';
    const key = keyFor(runId);
    await this.objects.put(key, body, { contentType: 'application/x-ndjson', maxBytes: MAX_TRANSCRIPT_BYTES });
    const pointer: TranscriptPointer = { key, format: meta.format, session_id: meta.sessionId };
    const moved = await this.database.query(POINT, [
      executionId,
      leaseEpoch,
      JSON.stringify(pointer),
      this.disposal.delayMs,
    ]);
    if (moved.length > 0) return 'stored';
    await this.objects.delete(key);
    return 'lease_lost';
  }

  async readFor(executionId: string, leaseEpoch: number): Promise<StoredObject | 'none' | 'lease_lost'> {
    const runId = await this.executions.renewOfRun(executionId, leaseEpoch);
    if (runId === null) return 'lease_lost';
    const pointer = await this.pointerOf(runId);
    return pointer ? ((await this.objects.get(pointer.key)) ?? 'none') : 'none';
  }

  /** Null when the earlier run has no transcript. The pointer goes into the new run's row. */
  async copyFor(sourceRunId: string, newRunId: string): Promise<TranscriptPointer | null> {
    const source = await this.pointerOf(sourceRunId);
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

  /** A time-limited download link, or null when the run has no transcript. */
  async linkTo(runId: string, ttlMs: number): Promise<string | null> {
    const pointer = await this.pointerOf(runId);
    if (!pointer) return null;
    return this.objects.signedUrl(pointer.key, {
      ttlMs,
      fileName: `${runId}.jsonl`,
      contentType: 'application/x-ndjson',
    });
  }

  private async pointerOf(runId: string): Promise<TranscriptPointer | null> {
    const [row] = await this.database.query<{ transcript: TranscriptPointer | null }>(POINTER, [runId]);
    return row?.transcript ?? null;
  }
}

const keyFor = (runId: string): string => `transcripts/${runId}/${newUuid()}.jsonl`;
