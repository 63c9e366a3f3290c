import { Injectable } from '@nestjs/common';
import type { Queryable, Statement } from '#platform/persistence';

/** What decides whether, and from where, a run begins again after its worker was lost. */
export interface RestartFacts {
  /** `on_worker_lost` of its configuration. */
  readonly wish: string | null;
  readonly restarts: number;
  /** The agent's session can be loaded elsewhere. */
  readonly has_transcript: boolean;
  /** A turn has ended since the run was created; what is stored until then belongs to the conversation that it continues. */
  readonly has_ended_turn: boolean;
}

/** The transcript is of use for the session that wrote it only. */
const FACTS: Statement = {
  name: 'restarts.facts',
  text: `SELECT r.config->>'on_worker_lost' AS wish, r.restarts,
    coalesce(r.transcript->>'session_id' = r.session_id AND NOT r.session_in_debug, false) AS has_transcript,
    EXISTS (SELECT 1 FROM run_events v WHERE v.run_id = r.id AND v.kind = 'turn_ended') AS has_ended_turn
   FROM runs r WHERE r.id = $1`,
};
/** Everything is said to the agent once more, in the order in which it was said. */
const BEGIN_ANEW: Statement = {
  name: 'restarts.begin-anew',
  text: `WITH said_again AS (
    UPDATE run_followups SET consumed_at = NULL, execution_id = NULL
     WHERE run_id = $1 AND consumed_at IS NOT NULL AND execution_id IS NOT NULL AND debug_execution_id IS NULL)
  UPDATE runs SET restarts = restarts + 1, prompt_taken = false, session_id = CASE WHEN $2 THEN session_id END WHERE id = $1`,
};
/** The turn under way when execution `$2` was lost is begun once more. */
const REPEAT_TURN: Statement = {
  name: 'restarts.repeat-turn',
  text: `WITH last AS (
    SELECT kind, data->>'followup_id' AS followup_id FROM run_events
     WHERE run_id = $1 AND execution_id = $2 AND kind IN ('turn_started', 'turn_ended') ORDER BY seq DESC LIMIT 1
  ), said_again AS (
    UPDATE run_followups f SET consumed_at = NULL, execution_id = NULL FROM last
     WHERE last.kind = 'turn_started' AND f.run_id = $1 AND f.id::text = last.followup_id)
  UPDATE runs SET restarts = restarts + 1,
    prompt_taken = prompt_taken AND NOT EXISTS (SELECT 1 FROM last WHERE kind = 'turn_started' AND followup_id IS NULL)
   WHERE id = $1`,
};

/** Runs whose worker was lost. The caller holds the run's lock. */
@Injectable()
export class RestartsStore {
  async facts(tx: Queryable, runId: string): Promise<RestartFacts | null> {
    const [row] = await tx.query<RestartFacts & Record<string, unknown>>(FACTS, [runId]);
    return row ?? null;
  }

  /** From the run's prompt; `keepsSession`: in the session that it has, of a conversation that it continues. */
  async beginAnew(tx: Queryable, runId: string, keepsSession: boolean): Promise<void> {
    await tx.query(BEGIN_ANEW, [runId, keepsSession]);
  }

  /** From the stored session. */
  async repeatTurn(tx: Queryable, runId: string, executionId: string): Promise<void> {
    await tx.query(REPEAT_TURN, [runId, executionId]);
  }
}
