import { Injectable } from '@nestjs/common';
import { Database, type Queryable, statement } from '#platform/persistence';
import { LIFECYCLE_KINDS, type RunEvent, type RunEventKind } from '#execution/runner-protocol';
import { RunStateListeners } from '../application/run-state-listeners.js';

export interface NewRunEvent {
  readonly kind: RunEventKind;
  readonly data: object;
}

const APPEND = statement('run-log.append')`WITH head AS (
  INSERT INTO run_heads AS h (run_id, last_seq) VALUES ($1, 1 + $3::int)
  ON CONFLICT (run_id) DO UPDATE SET last_seq = h.last_seq + $3::int RETURNING last_seq
)
INSERT INTO run_events (run_id, seq, execution_id, kind, at, data)
SELECT $1, head.last_seq - $3::int + e.ord, $2::bigint, e.kind, headrace.now(), e.data::jsonb
  FROM head, unnest($4::text[], $5::text[]) WITH ORDINALITY AS e (kind, data, ord)`;

const COLUMNS = 'run_id, seq::float8 AS seq, execution_id, kind, at, data';

const READ = statement('run-log.read')`
  SELECT ${COLUMNS} FROM run_events WHERE run_id = $1 AND seq > $2 ORDER BY run_events.seq LIMIT $3`;

const READ_KINDS = statement('run-log.read-kinds')`
  SELECT ${COLUMNS} FROM run_events WHERE run_id = $1 AND seq > $2 AND kind = ANY($4) ORDER BY run_events.seq LIMIT $3`;

/** Retention locks the run FOR UPDATE before it takes the log: this lock and that one exclude each other, and no change of state. */
const HOLD = statement('run-log.hold')`SELECT 1 FROM runs WHERE id = $1 FOR KEY SHARE SKIP LOCKED`;

const FIRST = statement('run-log.first')`SELECT 1 FROM run_events WHERE run_id = $1 AND seq = 1`;

/** The append-only log of run events. Sequence 1 is `run_created`, written with the run; a head row counts on from there. */
@Injectable()
export class RunLogStore {
  constructor(
    private readonly database: Database,
    private readonly transitions: RunStateListeners,
  ) {}

  async append(
    tx: Queryable,
    runId: string,
    executionId: string | null,
    events: readonly NewRunEvent[],
  ): Promise<void> {
    if (events.length === 0) return;
    await tx.query(APPEND, [
      runId,
      executionId,
      events.length,
      events.map((event) => event.kind),
      events.map((event) => JSON.stringify(event.data)),
    ]);
    await this.transitions.logged(tx, runId, events);
  }

  read(runId: string, afterSeq: number, limit: number): Promise<RunEvent[]> {
    return this.database.query<RunEvent>(READ, [runId, afterSeq, limit]);
  }

  /** Two statements: only one that begins after the lock was given sees what the lock's last holder has deleted. */
  async holdWhole(tx: Queryable, runId: string): Promise<boolean> {
    const held = await tx.query(HOLD, [runId]);
    return held.length > 0 && (await tx.query(FIRST, [runId])).length > 0;
  }

  readLifecycle(runId: string, afterSeq: number, limit: number): Promise<RunEvent[]> {
    return this.database.query<RunEvent>(READ_KINDS, [runId, afterSeq, limit, LIFECYCLE_KINDS]);
  }
}
