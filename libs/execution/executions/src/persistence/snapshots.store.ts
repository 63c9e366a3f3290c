import { Injectable } from '@nestjs/common';
import { Database, type Queryable, statement } from '#platform/persistence';
import { LEASED } from './executions.store.js';

export interface StoredSnapshot {
  readonly id: string;
  readonly runId: string;
  readonly seq: number;
  readonly reason: string;
  readonly objectKey: string;
  readonly entries: number;
  readonly sizeBytes: number;
  readonly storedBytes: number;
  readonly createdAt: Date;
}

const COLUMNS = `s.id, s.run_id AS "runId", s.seq::int AS seq, s.reason, s.object_key AS "objectKey", s.entries,
  s.size_bytes::float8 AS "sizeBytes", s.stored_bytes::float8 AS "storedBytes", s.created_at AS "createdAt"`;

const RUN_OF_LEASE = statement('snapshots.run-of-lease')`SELECT e.run_id FROM executions e WHERE ${LEASED}`;
/** Repeated with the same id, key and size, the same pack. */
const INSERT_PACK = statement('snapshots.insert-pack')`
  WITH pack AS (INSERT INTO snapshot_packs (id, object_key, size_bytes) VALUES ($2, $3, $4)
    ON CONFLICT (id) DO UPDATE SET size_bytes = excluded.size_bytes WHERE snapshot_packs.object_key = excluded.object_key
    RETURNING id)
  INSERT INTO run_snapshot_packs (run_id, pack_id) SELECT $1, id FROM pack ON CONFLICT DO NOTHING`;
const MISSING_PACKS = statement('snapshots.missing-packs')`
  SELECT count(*)::int AS n FROM unnest($2::uuid[]) AS wanted (id)
   WHERE NOT EXISTS (SELECT 1 FROM run_snapshot_packs p WHERE p.run_id = $1 AND p.pack_id = wanted.id)`;
/** The event that was appended last in this transaction. */
const INSERT = statement('snapshots.insert')`
  INSERT INTO run_snapshots (id, run_id, seq, reason, object_key, entries, size_bytes, stored_bytes, created_at)
  SELECT $1, $2, h.last_seq, $3, $4, $5, $6, $7, headrace.now() FROM run_heads h WHERE h.run_id = $2`;
const FIND = statement('snapshots.find')`SELECT ${COLUMNS} FROM run_snapshots s WHERE s.run_id = $1 AND s.id = $2`;
const PACK_KEY = statement('snapshots.pack-key')`
  SELECT p.object_key FROM run_snapshot_packs r JOIN snapshot_packs p ON p.id = r.pack_id WHERE r.run_id = $1 AND r.pack_id = $2`;
const AT = statement('snapshots.at')`
  SELECT ${COLUMNS} FROM run_snapshots s WHERE s.run_id = $1 AND s.seq <= $2 ORDER BY s.seq DESC LIMIT 1`;
const FIRST = statement('snapshots.first')`
  SELECT ${COLUMNS} FROM run_snapshots s WHERE s.run_id = $1 ORDER BY s.seq LIMIT 1`;
const LIST = statement('snapshots.list')`
  SELECT ${COLUMNS} FROM run_snapshots s WHERE s.run_id = $1 ORDER BY s.seq DESC LIMIT $2`;
const REMOVE_SNAPSHOTS = statement('snapshots.remove')`
  DELETE FROM run_snapshots WHERE run_id = ANY($1) RETURNING object_key`;
/** A run that is forked at the same time either keeps the pack, or finds none. */
const REMOVE_PACKS = statement('snapshots.remove-packs')`
  WITH freed AS (DELETE FROM run_snapshot_packs WHERE run_id = ANY($1) RETURNING pack_id)
  DELETE FROM snapshot_packs p WHERE p.id IN (SELECT pack_id FROM freed)
    AND NOT EXISTS (SELECT 1 FROM run_snapshot_packs o WHERE o.pack_id = p.id AND o.run_id <> ALL($1)) RETURNING p.object_key`;

@Injectable()
export class SnapshotsStore {
  constructor(private readonly database: Database) {}

  /** Null: the lease is gone. */
  async runOfLease(executionId: string, leaseEpoch: number): Promise<string | null> {
    const [row] = await this.database.query<{ run_id: string }>(RUN_OF_LEASE, [executionId, leaseEpoch]);
    return row?.run_id ?? null;
  }

  async insertPack(runId: string, packId: string, objectKey: string, sizeBytes: number): Promise<void> {
    await this.database.query(INSERT_PACK, [runId, packId, objectKey, sizeBytes]);
  }

  async hasPacks(tx: Queryable, runId: string, packIds: readonly string[]): Promise<boolean> {
    const [row] = await tx.query<{ n: number }>(MISSING_PACKS, [runId, packIds]);
    return row?.n === 0;
  }

  async insert(
    tx: Queryable,
    { id, runId, reason, objectKey, entries, sizeBytes, storedBytes }: Omit<StoredSnapshot, 'seq' | 'createdAt'>,
  ): Promise<void> {
    await tx.query(INSERT, [id, runId, reason, objectKey, entries, sizeBytes, storedBytes]);
  }

  async find(runId: string, snapshotId: string): Promise<StoredSnapshot | null> {
    const [row] = await this.database.query<StoredSnapshot>(FIND, [runId, snapshotId]);
    return row ?? null;
  }

  async packKey(runId: string, packId: string): Promise<string | null> {
    const [row] = await this.database.query<{ object_key: string }>(PACK_KEY, [runId, packId]);
    return row?.object_key ?? null;
  }

  /** The last one at an event of the log, or before it. */
  async at(runId: string, seq: number): Promise<StoredSnapshot | null> {
    const [row] = await this.database.query<StoredSnapshot>(AT, [runId, seq]);
    return row ?? null;
  }

  async first(runId: string): Promise<StoredSnapshot | null> {
    const [row] = await this.database.query<StoredSnapshot>(FIRST, [runId]);
    return row ?? null;
  }

  /** The newest first. */
  list(runId: string, limit: number): Promise<StoredSnapshot[]> {
    return this.database.query<StoredSnapshot>(LIST, [runId, limit]);
  }

  /** Resolves with the keys of the objects to which nothing refers any more. */
  async removeOfRuns(tx: Queryable, runIds: readonly string[]): Promise<string[]> {
    const manifests = await tx.query<{ object_key: string }>(REMOVE_SNAPSHOTS, [runIds]);
    const packs = await tx.query<{ object_key: string }>(REMOVE_PACKS, [runIds]);
    return [...manifests, ...packs].map(({ object_key: key }) => key);
  }
}
