import { Injectable } from '@nestjs/common';
import { type Queryable, statement } from '#platform/persistence';
import { MAX_ATTEMPTS } from '../domain/lease.js';
import { EXTERNAL_POOL } from '../domain/run.js';
import { DebugSessionsStore } from '../persistence/debug-sessions.store.js';
import type { Execution } from '../persistence/executions.store.js';
import { type LockedRun, RunTransitions } from '../persistence/run-transitions.store.js';

/** A stored transcript can be loaded by the session that wrote it only. */
const FACTS = statement('restarts.facts')`SELECT r.config->>'on_worker_lost' AS on_worker_lost, r.restarts,
    coalesce(r.transcript->>'session_id' = r.session_id AND NOT r.session_in_debug, false) AS has_transcript,
    EXISTS (SELECT 1 FROM run_events v WHERE v.run_id = r.id AND v.kind = 'turn_ended') AS has_ended_turn
   FROM runs r WHERE r.id = $1`;
/** All messages are sent to the agent again, in their order. `$2`: the run keeps its session. */
const RESTART = statement('restarts.from-prompt')`WITH sent_again AS (
    UPDATE run_followups SET consumed_at = NULL, execution_id = NULL
     WHERE run_id = $1 AND consumed_at IS NOT NULL AND execution_id IS NOT NULL AND debug_execution_id IS NULL)
  UPDATE runs SET restarts = restarts + 1, prompt_taken = false, session_id = CASE WHEN $2 THEN session_id END WHERE id = $1`;
/** Only the message of the turn that was interrupted with execution `$2` is sent again. */
const REPEAT_TURN = statement('restarts.repeat-turn')`WITH last AS (
    SELECT kind, data->>'followup_id' AS followup_id FROM run_events
     WHERE run_id = $1 AND execution_id = $2 AND kind IN ('turn_started', 'turn_ended') ORDER BY seq DESC LIMIT 1
  ), sent_again AS (
    UPDATE run_followups f SET consumed_at = NULL, execution_id = NULL FROM last
     WHERE last.kind = 'turn_started' AND f.run_id = $1 AND f.id::text = last.followup_id)
  UPDATE runs SET restarts = restarts + 1,
    prompt_taken = prompt_taken AND NOT EXISTS (SELECT 1 FROM last WHERE kind = 'turn_started' AND followup_id IS NULL)
   WHERE id = $1`;

type Facts = {
  on_worker_lost: string | null;
  restarts: number;
  has_transcript: boolean;
  /** Of the run itself: a transcript from before belongs to the conversation that the run continues. */
  has_ended_turn: boolean;
};

/** A run starts again in another execution; `attempt` counts this one, of {@link MAX_ATTEMPTS}. */
export interface Restart {
  readonly way: 'retry' | 'resume';
  readonly attempt: number;
}

/** Whether a run returns to the queue when its execution has ended. The caller holds the locks of both. */
@Injectable()
export class RestartPolicy {
  constructor(
    private readonly transitions: RunTransitions,
    private readonly debugSessions: DebugSessionsStore,
  ) {}

  /** The end of a debug session does not change its run; only messages that the session never got requeue the run. */
  async afterDebug(
    tx: Queryable,
    run: LockedRun,
    execution: Execution,
  ): Promise<{ transition: 'requeue'; status: null } | null> {
    await this.transitions.touch(tx, run.id);
    const hasMessages = run.state === 'FAILED' && (await this.debugSessions.reroute(tx, run.id, execution.id));
    return hasMessages ? { transition: 'requeue', status: null } : null;
  }

  /**
   * By `on_worker_lost` of the run. `retry`: from the prompt, in a new session. `resume`: from the stored session, with the
   * interrupted turn again; without a stored session like `retry`. Null: the run does not start again.
   */
  async afterLoss(tx: Queryable, run: LockedRun, execution: Execution): Promise<Restart | null> {
    if (run.pool === EXTERNAL_POOL) return null;
    const [facts] = await tx.query<Facts>(FACTS, [run.id]);
    if (facts?.on_worker_lost !== 'retry' && facts?.on_worker_lost !== 'resume') return null;
    const attempt = facts.restarts + 2;
    if (attempt > MAX_ATTEMPTS) return null;
    if (facts.on_worker_lost === 'resume' && facts.has_transcript) {
      await tx.query(REPEAT_TURN, [run.id, execution.id]);
      return { way: 'resume', attempt };
    }
    await tx.query(RESTART, [run.id, facts.has_transcript && !facts.has_ended_turn]);
    return { way: 'retry', attempt };
  }
}
