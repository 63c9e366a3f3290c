import { Injectable } from '@nestjs/common';
import { isUuid, newUuid } from '#platform/kernel';
import { Database, type Queryable, statement } from '#platform/persistence';
import { discardNamed, ObjectDisposal } from '#platform/storage';
import type { NewRunEvent } from '../domain/run.js';

export interface StoredSnapshot {
  readonly id: string;
  readonly runId: string;
  readonly seq: number;
  readonly reason: string;
  readonly manifest: PackLocation;
  readonly entries: number;
  readonly sizeBytes: number;
  readonly storedBytes: number;
  readonly createdAt: Date;
}

/** Where a pack is, or a manifest, which is stored like one. */
export interface PackLocation {
  readonly id: string;
  readonly objectKey: string;
  /** Sealed; null: it is not encrypted. */
  readonly contentKey: string | null;
}

export interface StoredPack extends PackLocation {
  readonly sizeBytes: number;
}

const NOT_STORED: NewRunEvent = {
  kind: 'workspace_snapshot_failed',
  data: { message: 'The snapshot of the workspace is not stored.' },
};

const locationOf = (pack: string): string =>
  `jsonb_build_object('id', ${pack}.id, 'objectKey', ${pack}.object_key, 'contentKey', ${pack}.content_key)`;

const COLUMNS = `s.id, s.run_id AS "runId", s.seq::int AS seq, s.reason, ${locationOf('m')} AS manifest, s.entries,
  s.size_bytes::float8 AS "sizeBytes", s.stored_bytes::float8 AS "storedBytes", s.created_at AS "createdAt"`;

const SNAPSHOTS = 'run_snapshots s JOIN snapshot_packs m ON m.id = s.manifest_id';

/** A pack that is stored again has the same content in another object. `$12`: see {@link discardNamed}. */
const packs = (delay: string): string => `earlier AS (SELECT object_key FROM snapshot_packs WHERE id = ANY($2::uuid[])
    AND starts_with(object_key, 'snapshots/' || $1::text || '/')),
  discarded AS (${discardNamed('SELECT object_key FROM earlier', delay)}),
  packs AS (INSERT INTO snapshot_packs (id, object_key, content_key, size_bytes)
    SELECT * FROM unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[])
    ON CONFLICT (id) DO UPDATE SET object_key = excluded.object_key, content_key = excluded.content_key,
      size_bytes = excluded.size_bytes WHERE starts_with(snapshot_packs.object_key, 'snapshots/' || $1::text || '/')
    RETURNING id)`;
const LINK_PACKS = `INSERT INTO run_snapshot_packs (run_id, pack_id) SELECT $1::uuid, id FROM packs ON CONFLICT DO NOTHING`;
const INSERT_PACKS = statement('snapshots.insert-packs')`WITH ${packs('$6')} ${LINK_PACKS}`;
/** Without a sequence number. `$6`: the packs that it names, which its run must have. */
const INSERT = statement('snapshots.insert')`
  WITH ${packs('$12')}, links AS (${LINK_PACKS})
  INSERT INTO run_snapshots (id, run_id, reason, manifest_id, entries, size_bytes, stored_bytes, created_at)
  SELECT $7::uuid, $1::uuid, $8, $7::uuid, $9, $10, $11, headrace.now()
   WHERE NOT EXISTS (SELECT 1 FROM unnest($6::uuid[]) AS wanted (id) WHERE wanted.id NOT IN (SELECT id FROM packs)
     AND NOT EXISTS (SELECT 1 FROM run_snapshot_packs p WHERE p.run_id = $1::uuid AND p.pack_id = wanted.id))
  RETURNING id`;
/** The event is `$3` events before the last one of the log. */
const PUBLISH = statement('snapshots.publish')`
  UPDATE run_snapshots s SET seq = h.last_seq - $3 FROM run_heads h
   WHERE h.run_id = $1 AND s.run_id = $1 AND s.id = $2 AND s.seq IS NULL`;
const PENDING = statement('snapshots.pending')`
  SELECT id FROM run_snapshots WHERE run_id = $1 AND id = ANY($2::uuid[]) AND seq IS NULL`;
const FIND = statement(
  'snapshots.find',
)`SELECT ${COLUMNS} FROM ${SNAPSHOTS} WHERE s.run_id = $1 AND s.id = $2 AND s.seq IS NOT NULL`;
const PACK = statement('snapshots.pack')`
  SELECT ${locationOf('p')} AS pack FROM run_snapshot_packs r JOIN snapshot_packs p ON p.id = r.pack_id WHERE r.run_id = $1 AND r.pack_id = $2`;
const AT = statement('snapshots.at')`
  SELECT ${COLUMNS} FROM ${SNAPSHOTS} WHERE s.run_id = $1 AND s.seq <= $2 ORDER BY s.seq DESC LIMIT 1`;
const FIRST = statement('snapshots.first')`
  SELECT ${COLUMNS} FROM ${SNAPSHOTS} WHERE s.run_id = $1 AND s.seq IS NOT NULL ORDER BY s.seq LIMIT 1`;
const LIST = statement('snapshots.list')`
  SELECT ${COLUMNS} FROM ${SNAPSHOTS} WHERE s.run_id = $1 AND s.seq IS NOT NULL ORDER BY s.seq DESC LIMIT $2`;
/** The end of a turn, which follows its snapshot. */
const SEQ_OF_TURN = statement('snapshots.seq-of-turn')`
  SELECT max(v.seq)::float8 AS seq FROM run_events v
   WHERE v.run_id = $1 AND v.kind = 'turn_ended' AND v.data->>'turn_id' = $2`;
/** `$2` begins with snapshot `$3` of run `$1`. */
const ADOPT_PACKS = statement('snapshots.adopt-packs')`
  INSERT INTO run_snapshot_packs (run_id, pack_id) SELECT $2, pack_id FROM run_snapshot_packs WHERE run_id = $1`;
const ADOPT = statement('snapshots.adopt')`
  INSERT INTO run_snapshots (id, run_id, seq, reason, manifest_id, entries, size_bytes, stored_bytes, created_at)
  SELECT $4, $2, 0, 'fork', s.manifest_id, s.entries, s.size_bytes, 0, headrace.now() FROM run_snapshots s
   WHERE s.run_id = $1 AND s.id = $3 AND s.seq IS NOT NULL RETURNING id`;
const FORK_OF = statement('snapshots.fork-of')`
  SELECT forked_from_run_id AS "runId", forked_from_seq::float8 AS seq FROM runs WHERE id = $1 AND forked_from_run_id IS NOT NULL`;
const REMOVE_SNAPSHOTS = statement('snapshots.remove')`DELETE FROM run_snapshots WHERE run_id = ANY($1)`;
/** A fork that is created at the same time keeps the pack by its foreign key, or is not created. */
const REMOVE_PACKS = statement('snapshots.remove-packs')`
  WITH freed AS (DELETE FROM run_snapshot_packs WHERE run_id = ANY($1) RETURNING pack_id)
  DELETE FROM snapshot_packs p WHERE p.id IN (SELECT pack_id FROM freed)
    AND NOT EXISTS (SELECT 1 FROM run_snapshot_packs o WHERE o.pack_id = p.id AND o.run_id <> ALL($1)) RETURNING p.object_key`;

@Injectable()
export class SnapshotsStore {
  constructor(
    private readonly database: Database,
    private readonly disposal: ObjectDisposal,
  ) {}

  async insertPacks(runId: string, packs: readonly StoredPack[]): Promise<void> {
    await this.database.query(INSERT_PACKS, [runId, ...columnsOf(packs), this.disposal.delayMs]);
  }

  /** `stored`: its manifest, and packs that were stored with it. False: the run does not have all `packs` that it names. */
  async insert(
    snapshot: Omit<StoredSnapshot, 'seq' | 'createdAt' | 'manifest'>,
    stored: readonly StoredPack[],
    packs: readonly string[],
  ): Promise<boolean> {
    const { id, runId, reason, entries, sizeBytes, storedBytes } = snapshot;
    const facts = [id, reason, entries, sizeBytes, storedBytes, this.disposal.delayMs];
    const values = [runId, ...columnsOf(stored), packs, ...facts];
    return (await this.database.query(INSERT, values)).length > 0;
  }

  /**
   * The events to log: a reported snapshot that is not stored, or that was reported before, is one that failed. The runner
   * continues without it.
   */
  async checked(tx: Queryable, runId: string, events: readonly NewRunEvent[]): Promise<readonly NewRunEvent[]> {
    const ids = events.filter(isSnapshot).map(snapshotId).filter(isUuid);
    if (!events.some(isSnapshot)) return events;
    const rows = await tx.query<{ id: string }>(PENDING, [runId, ids]);
    const pending = new Set(rows.map(({ id }) => id));
    return events.map((event) => (!isSnapshot(event) || pending.delete(snapshotId(event)) ? event : NOT_STORED));
  }

  /** After checked `events` were appended to the log: their snapshots exist from now on. */
  async publish(tx: Queryable, runId: string, events: readonly NewRunEvent[]): Promise<void> {
    for (const [index, event] of events.entries())
      if (isSnapshot(event)) await tx.query(PUBLISH, [runId, snapshotId(event), events.length - 1 - index]);
  }

  async find(runId: string, snapshotId: string): Promise<StoredSnapshot | null> {
    const [row] = await this.database.query<StoredSnapshot>(FIND, [runId, snapshotId]);
    return row ?? null;
  }

  async pack(runId: string, packId: string): Promise<PackLocation | null> {
    const [row] = await this.database.query<{ pack: PackLocation }>(PACK, [runId, packId]);
    return row?.pack ?? null;
  }

  /** The last one at an event of the log, or before it. Default: of all. */
  async at(runId: string, seq = Number.MAX_SAFE_INTEGER): Promise<StoredSnapshot | null> {
    const [row] = await this.database.query<StoredSnapshot>(AT, [runId, seq]);
    return row ?? null;
  }

  async first(runId: string): Promise<StoredSnapshot | null> {
    const [row] = await this.database.query<StoredSnapshot>(FIRST, [runId]);
    return row ?? null;
  }

  /** Null: no turn of this id has ended, or the log is not stored any more. */
  async seqOfTurn(runId: string, turnId: string): Promise<number | null> {
    const [row] = await this.database.query<{ seq: number | null }>(SEQ_OF_TURN, [runId, turnId]);
    return row?.seq ?? null;
  }

  /** The new run begins with a snapshot of another run. False: it is not stored any more. */
  async adopt(tx: Queryable, source: { runId: string; snapshotId: string }, newRunId: string): Promise<boolean> {
    await tx.query(ADOPT_PACKS, [source.runId, newRunId]);
    return (await tx.query(ADOPT, [source.runId, newRunId, source.snapshotId, newUuid()])).length > 0;
  }

  /** Null: the run is no fork. */
  async forkOf(runId: string): Promise<{ readonly runId: string; readonly seq: number } | null> {
    const [row] = await this.database.query<{ runId: string; seq: number }>(FORK_OF, [runId]);
    return row ?? null;
  }

  /** The newest first. */
  list(runId: string, limit: number): Promise<StoredSnapshot[]> {
    return this.database.query<StoredSnapshot>(LIST, [runId, limit]);
  }

  /** Resolves with the keys of the objects to which nothing refers any more. */
  async removeOfRuns(tx: Queryable, runIds: readonly string[]): Promise<string[]> {
    await tx.query(REMOVE_SNAPSHOTS, [runIds]);
    const packs = await tx.query<{ object_key: string }>(REMOVE_PACKS, [runIds]);
    return packs.map(({ object_key: key }) => key);
  }
}

const columnsOf = (packs: readonly StoredPack[]) => [
  packs.map(({ id }) => id),
  packs.map(({ objectKey }) => objectKey),
  packs.map(({ contentKey }) => contentKey),
  packs.map(({ sizeBytes }) => sizeBytes),
];

const isSnapshot = ({ kind }: NewRunEvent): boolean => kind === 'workspace_snapshot';
const snapshotId = ({ data }: NewRunEvent): string => String((data as Record<string, unknown>)['snapshot_id']);
