import { Injectable } from '@nestjs/common';
import { LIFECYCLE_KINDS, type RunEvent } from '#execution/runner-protocol';
import { Database, type Queryable, statement } from '#platform/persistence';
import { withDebugWindow, withWaitingReason } from '../domain/run.js';
import { isEnded, type RunState } from '../domain/run-state.js';
import type { StatusMessage, WaitingReason } from '../domain/run.js';
import {
  DEBUG_WINDOW_COLUMNS,
  type DebugWindowRow,
  toDebugWindow,
  WAITING_REASON,
} from '../persistence/run-status-sql.js';

/** Where a run and its log stand, both as of one moment. */
export interface RunHead {
  readonly runId: string;
  readonly lastSeq: number;
  readonly state: RunState;
  /** With what a queued run waits for. */
  readonly statusMessage: StatusMessage | null;
  readonly updatedAt: Date;
  readonly conversationId: string | null;
  readonly conversationFormat: string | null;
  /** Nothing of the run lives any more; only a follow-up would change it. */
  readonly isEnded: boolean;
}

const HEADS = statement('run-tail.heads')`
  SELECT r.id AS "runId", coalesce(h.last_seq, 1)::float8 AS "lastSeq", r.state, r.status_message, r.updated_at AS "updatedAt",
    r.conversation_id AS "conversationId", r.conversation_format AS "conversationFormat", r.team_uid, e.id IS NOT NULL AS is_live,
    ${DEBUG_WINDOW_COLUMNS}, ${WAITING_REASON}
  FROM runs r LEFT JOIN run_heads h ON h.run_id = r.id LEFT JOIN executions e ON e.run_id = r.id AND e.ended_at IS NULL
 WHERE r.id = ANY($1::uuid[])`;

const UNFINISHED = statement('runs.unfinished-among')`
  SELECT id FROM runs WHERE id = ANY($1::uuid[]) AND state IN ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS', 'BLOCKED')`;

const COLUMNS = 'run_id, seq::float8 AS seq, execution_id, kind, at, data';

const READ = statement('run-log.read')`
  SELECT ${COLUMNS} FROM run_events WHERE run_id = $1 AND seq > $2 ORDER BY run_events.seq LIMIT $3`;

/** Of several runs: up to `$4` events of each. */
const READ_ALL = statement('run-log.read-all')`
  SELECT v.* FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS w (run_id, after, upto) CROSS JOIN LATERAL (
    SELECT ${COLUMNS} FROM run_events e WHERE e.run_id = w.run_id AND e.seq > w.after AND e.seq <= w.upto
     ORDER BY e.seq LIMIT $4) v`;

const READ_KINDS = statement('run-log.read-kinds')`
  SELECT ${COLUMNS} FROM run_events WHERE run_id = $1 AND seq > $2 AND kind = ANY($4) ORDER BY run_events.seq LIMIT $3`;

/** Retention locks the run FOR UPDATE before it takes the log: this lock and that one exclude each other, and no change of state. */
const HOLD = statement('run-log.hold')`SELECT 1 FROM runs WHERE id = $1 FOR KEY SHARE SKIP LOCKED`;

const FIRST = statement('run-log.first')`SELECT 1 FROM run_events WHERE run_id = $1 AND seq = 1`;

type HeadRow = Omit<RunHead, 'statusMessage' | 'isEnded'> &
  DebugWindowRow & {
    status_message: StatusMessage | null;
    team_uid: string | null;
    is_live: boolean;
    waiting_reason: WaitingReason | null;
  };

/** The growing end of runs' logs, for those who watch. Whether the caller may watch has been checked. */
@Injectable()
export class RunTail {
  constructor(private readonly database: Database) {}

  /** One statement, however many runs. What does not exist any more is left out. */
  async heads(runIds: readonly string[]): Promise<RunHead[]> {
    const rows = await this.database.query<HeadRow>(HEADS, [runIds]);
    return rows.map(({ status_message, waiting_reason, team_uid, is_live, debug_until, debug_active, ...head }) => ({
      ...head,
      statusMessage: withDebugWindow(
        withWaitingReason(status_message, waiting_reason, { teamUid: team_uid }),
        toDebugWindow({ debug_until, debug_active }),
      ),
      isEnded: !is_live && isEnded(head.state, is_live),
    }));
  }

  /** Those of the runs that are queued or executed; no round trip for none. */
  async unfinished(queryable: Queryable, ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set();
    const rows = await queryable.query<{ id: string }>(UNFINISHED, [ids]);
    return new Set(rows.map(({ id }) => id));
  }

  read(runId: string, afterSeq: number, limit: number): Promise<RunEvent[]> {
    return this.database.query<RunEvent>(READ, [runId, afterSeq, limit]);
  }

  /** Of several runs, in one round trip: up to `limit` events of each between two sequence numbers, the first one excluded. */
  async readAll(
    ranges: readonly { readonly runId: string; readonly afterSeq: number; readonly upToSeq: number }[],
    limit: number,
  ): Promise<ReadonlyMap<string, RunEvent[]>> {
    const rows = await this.database.query<RunEvent>(READ_ALL, [
      ranges.map(({ runId }) => runId),
      ranges.map(({ afterSeq }) => afterSeq),
      ranges.map(({ upToSeq }) => upToSeq),
      limit,
    ]);
    const byRun = new Map<string, RunEvent[]>(ranges.map(({ runId }) => [runId, []]));
    for (const event of rows) byRun.get(event.run_id)?.push(event);
    return byRun;
  }

  /**
   * Before data that was derived from a log is stored: whether the log is complete from its first event, and stays until `tx`
   * ends. False once retention has deleted the log or the run, or is about to. The lock stops nothing but deletion, and is
   * never waited for. Two statements: only one that begins after the lock was given sees what the lock's last holder has
   * deleted.
   */
  async holdWhole(tx: Queryable, runId: string): Promise<boolean> {
    const held = await tx.query(HOLD, [runId]);
    return held.length > 0 && (await tx.query(FIRST, [runId])).length > 0;
  }

  readLifecycle(runId: string, afterSeq: number, limit: number): Promise<RunEvent[]> {
    return this.database.query<RunEvent>(READ_KINDS, [runId, afterSeq, limit, LIFECYCLE_KINDS]);
  }
}
