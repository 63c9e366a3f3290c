import { Injectable } from '@nestjs/common';
import { HOSTED_WORKERS } from '#execution/worker-protocol';
import { type Queryable, statement, type Transaction } from '#platform/persistence';
import { RunMetrics } from '../adapters/run-metrics.js';
import { RunTraces } from '../adapters/run-traces.js';
import { isEnded, RUN_STATE_MACHINE, type RunState, type RunTransition } from '../domain/run-state.js';
import { EXTERNAL_POOL, HOSTED_POOL, type PrincipalRef, type StatusMessage, workerPool } from '../domain/run.js';

export interface LockedRun {
  readonly id: string;
  readonly state: RunState;
  readonly team_uid: string | null;
  readonly conversation_id: string | null;
  readonly offers: number;
  readonly pool: string;
  readonly creator_type: PrincipalRef['type'];
  readonly creator_uid: string;
  readonly environment_uid: string | null;
}

/** NO KEY UPDATE: foreign keys that point at the run must not wait for us. */
const locked = (run: string) => `SELECT id, state, team_uid, conversation_id, offers, pool, creator_type, creator_uid,
    config->>'environment_id' AS environment_uid FROM runs WHERE id = ${run} FOR NO KEY UPDATE`;
const LOCK = statement('runs.lock')`${locked('$1')}`;
const LOCK_OF = statement('runs.lock-of-execution')`${locked('(SELECT run_id FROM executions WHERE id = $1)')}`;

/**
 * `finished_at` is set and cleared with the state: a run that continues is active again.
 * `$5`: the agent starts; `$6`: offers are counted from 0 again.
 * A run that a self-hosted worker rejected keeps its place in the queue. The seconds are those of the phases that end with the claim
 * and the start, for metrics.
 */
const APPLY = statement('runs.apply-transition')`
  UPDATE runs SET state = $2, updated_at = headrace.now(), status_message = $4::jsonb,
    finished_at = CASE WHEN $7 THEN headrace.now() END,
    started_at = CASE WHEN $5 THEN coalesce(started_at, headrace.now()) ELSE started_at END,
    queued_at = CASE WHEN $2 = 'QUEUED' AND NOT (state = 'PENDING' AND starts_with(pool, 'worker:')) THEN headrace.now() ELSE queued_at END,
    offers = CASE WHEN $6 THEN 0 ELSE offers END
  WHERE id = $1 AND state = ANY($3)
  RETURNING pool, CASE WHEN $5 OR $2 = 'CLAIMED' THEN (SELECT json_build_object(
      'queued', CASE WHEN NOT $5 THEN extract(epoch FROM e.offered_at - runs.queued_at) END,
      'offered', CASE WHEN NOT $5 THEN extract(epoch FROM headrace.now() - e.offered_at) END,
      'setup', CASE WHEN $5 THEN extract(epoch FROM headrace.now() - e.claimed_at) END)
    FROM executions e WHERE e.run_id = runs.id AND e.ended_at IS NULL) END AS phases`;

interface Applied {
  readonly pool: string;
  /** Seconds. Null: no phase ends with the transition, or the run has no execution. */
  readonly phases: Readonly<Record<'queued' | 'offered' | 'setup', number | null>> | null;
}

/** A follow-up to an external run that has ended hands it over: from now on it is placed like any other run. */
const HAND_OVER = statement('runs.hand-over')`WITH handed AS (
    UPDATE runs SET execution_location = 'REMOTE',
      pool = CASE WHEN coalesce(config->>'worker_host', '${HOSTED_WORKERS}') = '${HOSTED_WORKERS}' THEN '${HOSTED_POOL}' ELSE '${workerPool('')}' || (config->>'worker_host') END
    WHERE id = $1 AND pool = '${EXTERNAL_POOL}' RETURNING id, slot_key)
  UPDATE run_facets f SET tokens = array_replace(f.tokens,
      headrace.run_token(h.slot_key, 'execution_location', 'LOCAL'), headrace.run_token(h.slot_key, 'execution_location', 'REMOTE'))
    FROM handed h WHERE f.run_id = h.id`;

const MAKE_EXTERNAL = statement('runs.make-external')`WITH moved AS (
    UPDATE runs SET execution_location = 'LOCAL', pool = '${EXTERNAL_POOL}' WHERE id = $1 RETURNING id, slot_key)
  UPDATE run_facets f SET tokens = array_replace(f.tokens,
      headrace.run_token(m.slot_key, 'execution_location', 'REMOTE'), headrace.run_token(m.slot_key, 'execution_location', 'LOCAL'))
    FROM moved m WHERE f.run_id = m.id`;

/** Where no runner reports, the agent is assumed to work from the claim on. */
const START_FROM_CLAIM = statement('runs.start-from-claim')`UPDATE runs SET started_at = e.claimed_at FROM executions e
   WHERE runs.id = $1 AND runs.started_at IS NULL AND e.id = $2`;

const SET_STATUS = statement('runs.set-status')`
  UPDATE runs SET status_message = $2::jsonb, updated_at = headrace.now() WHERE id = $1 AND state = 'INPROGRESS'`;

const TOUCH = statement('runs.touch')`UPDATE runs SET updated_at = headrace.now() WHERE id = $1`;

const START_SESSION = statement('runs.start-session')`
  UPDATE runs SET session_id = $2, conversation_id = coalesce(conversation_id, $3),
    session_in_debug = CASE WHEN $4 THEN session_in_debug ELSE $5 END WHERE id = $1`;
const MARK_PROMPT_SENT = statement('runs.mark-prompt-sent')`
  UPDATE runs SET prompt_taken = true WHERE id = $1 AND NOT prompt_taken`;

/**
 * Changes of a run by its executions; of its state only by the state table, one guarded UPDATE each. Lock order everywhere:
 * run, then execution, then the slot row of the pool, then the owner's.
 */
@Injectable()
export class RunTransitions {
  constructor(
    private readonly metrics: RunMetrics,
    private readonly traces: RunTraces,
  ) {}

  async lock(tx: Queryable, runId: string): Promise<LockedRun | null> {
    const [run] = await tx.query<LockedRun>(LOCK, [runId]);
    return run ?? null;
  }

  /** The run of an execution, which is not locked with it. */
  async lockOf(tx: Queryable, executionId: string): Promise<LockedRun | null> {
    const [run] = await tx.query<LockedRun>(LOCK_OF, [executionId]);
    return run ?? null;
  }

  /** False: the run is in a state in which `transition` is refused, and nothing has changed. */
  async apply(
    tx: Transaction,
    runId: string,
    transition: RunTransition,
    status: StatusMessage | null = null,
  ): Promise<boolean> {
    const state = RUN_STATE_MACHINE.target(transition);
    const [applied] = await tx.query<Applied>(APPLY, [
      runId,
      state,
      RUN_STATE_MACHINE.sources(transition),
      status === null ? null : JSON.stringify(status),
      transition === 'start',
      transition === 'requeue' || transition === 'retry',
      isEnded(state, true),
    ]);
    if (applied === undefined) return false;
    if (transition === 'requeue') await tx.query(HAND_OVER, [runId]);
    tx.afterCommit(() => {
      this.metrics.stateChanged(state);
      for (const phase of ['queued', 'offered', 'setup'] as const)
        this.metrics.phaseEnded(phase, applied.pool, applied.phases?.[phase]);
      if (isEnded(state, true)) this.traces.runEnded(runId);
    });
    return true;
  }

  /** From now on the run is executed on the machine of a caller, until a follow-up hands it over. */
  async makeExternal(tx: Queryable, runId: string): Promise<void> {
    await tx.query(MAKE_EXTERNAL, [runId]);
  }

  async setStartFromClaim(tx: Queryable, runId: string, executionId: string): Promise<void> {
    await tx.query(START_FROM_CLAIM, [runId, executionId]);
  }

  /** Status of a run in progress: why it makes no progress; null: it does. */
  async setStatus(tx: Queryable, runId: string, status: StatusMessage | null): Promise<void> {
    await tx.query(SET_STATUS, [runId, status === null ? null : JSON.stringify(status)]);
  }

  /** Something besides the state has changed that a reader of the run sees. */
  async touch(tx: Queryable, runId: string): Promise<void> {
    await tx.query(TOUCH, [runId]);
  }

  /** `newConversationId`: for a run without a conversation. `isResumed`: an earlier session was loaded. */
  async startSession(
    tx: Queryable,
    runId: string,
    session: { sessionId: string; newConversationId: string; isResumed: boolean; isDebug: boolean },
  ): Promise<void> {
    const { sessionId, newConversationId, isResumed, isDebug } = session;
    await tx.query(START_SESSION, [runId, sessionId, newConversationId, isResumed, isDebug]);
  }

  /** The run's own prompt reached the agent: later executions continue instead of starting over. */
  async markPromptSent(tx: Queryable, runId: string): Promise<void> {
    await tx.query(MARK_PROMPT_SENT, [runId]);
  }
}
