import { Injectable } from '@nestjs/common';
import type { Queryable, Statement } from '#platform/persistence';
import { HOSTED_WORKERS } from '#execution/worker-protocol';
import { RUN_STATE_MACHINE, type RunMove, type RunState } from '../domain/run-state.js';
import { EXTERNAL_POOL, HOSTED_POOL, type StatusMessage, workerPool } from '../domain/run.js';

/** What a run's row tells the code that is about to move it. */
export interface LockedRun {
  readonly id: string;
  readonly state: RunState;
  readonly team_uid: string | null;
  readonly owner_user_uid: string | null;
  readonly conversation_id: string | null;
  readonly session_id: string | null;
  readonly offers: number;
  readonly pool: string;
  readonly creator_type: string;
  readonly creator_uid: string;
}

const LOCK: Statement = {
  name: 'runs.lock',
  // NO KEY UPDATE: foreign keys that point at the run must not wait for us.
  text: `SELECT id, state, team_uid, owner_user_uid, conversation_id, session_id, offers, pool, creator_type, creator_uid FROM runs WHERE id = $1 FOR NO KEY UPDATE`,
};

/** What a self-hosted worker did not take keeps its place in the queue. */
const MOVE: Statement = {
  name: 'runs.move',
  text: `UPDATE runs SET state = $2, updated_at = headrace.now(), status_message = $4::jsonb,
    started_at = CASE WHEN $5 THEN coalesce(started_at, headrace.now()) ELSE started_at END,
    queued_at = CASE WHEN $2 = 'QUEUED' AND NOT (state = 'PENDING' AND starts_with(pool, 'worker:')) THEN headrace.now() ELSE queued_at END,
    offers = CASE WHEN $6 THEN 0 ELSE offers END
  WHERE id = $1 AND state = ANY($3) RETURNING id`,
};

/** Whoever asks for more of an external run that has ended hands it over: from now on it is a run like any other. */
const HAND_OVER: Statement = {
  name: 'runs.hand-over',
  text: `WITH handed AS (
    UPDATE runs SET execution_location = 'REMOTE',
      pool = CASE WHEN coalesce(config->>'worker_host', '${HOSTED_WORKERS}') = '${HOSTED_WORKERS}' THEN '${HOSTED_POOL}' ELSE '${workerPool('')}' || (config->>'worker_host') END
    WHERE id = $1 AND pool = '${EXTERNAL_POOL}' RETURNING id, slot_key)
  UPDATE run_facets f SET tokens = array_replace(f.tokens,
      headrace.run_token(h.slot_key, 'execution_location', 'LOCAL'), headrace.run_token(h.slot_key, 'execution_location', 'REMOTE'))
    FROM handed h WHERE f.run_id = h.id`,
};

/** Without a runner that calls, an agent is taken to work from the claim on. */
const NOTE_START: Statement = {
  name: 'runs.note-start',
  text: `UPDATE runs SET started_at = e.claimed_at FROM executions e
   WHERE runs.id = $1 AND runs.started_at IS NULL AND e.id = $2`,
};

const NOTE: Statement = {
  name: 'runs.note',
  text: `UPDATE runs SET status_message = $2::jsonb, updated_at = headrace.now() WHERE id = $1 AND state = 'INPROGRESS'`,
};

const TOUCH: Statement = { name: 'runs.touch', text: `UPDATE runs SET updated_at = headrace.now() WHERE id = $1` };

/**
 * Moves runs by the state table, one guarded UPDATE each. Lock order everywhere: run, then execution, then the global
 * slot row, then the owner's.
 */
@Injectable()
export class RunMoves {
  async lock(tx: Queryable, runId: string): Promise<LockedRun | null> {
    const [run] = await tx.query<LockedRun & Record<string, unknown>>(LOCK, [runId]);
    return run ?? null;
  }

  /** True when the run was in a state from which `move` leads on. */
  async move(tx: Queryable, runId: string, move: RunMove, status: StatusMessage | null = null): Promise<boolean> {
    const rows = await tx.query(MOVE, [
      runId,
      RUN_STATE_MACHINE.target(move),
      RUN_STATE_MACHINE.sources(move),
      status === null ? null : JSON.stringify(status),
      move === 'start',
      move === 'requeue' || move === 'retry',
    ]);
    if (move === 'requeue' && rows.length > 0) await tx.query(HAND_OVER, [runId]);
    return rows.length > 0;
  }

  /** The run started when this execution of it was claimed, unless it is known to have started before. */
  async noteStart(tx: Queryable, runId: string, executionId: string): Promise<void> {
    await tx.query(NOTE_START, [runId, executionId]);
  }

  /** Why a run in progress makes none; null: it does. */
  async note(tx: Queryable, runId: string, status: StatusMessage | null): Promise<void> {
    await tx.query(NOTE, [runId, status === null ? null : JSON.stringify(status)]);
  }

  /** Something that it shows has changed besides its state. */
  async touch(tx: Queryable, runId: string): Promise<void> {
    await tx.query(TOUCH, [runId]);
  }
}
