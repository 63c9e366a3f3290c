import { Injectable } from '@nestjs/common';
import { statement, type Transaction } from '#platform/persistence';
import { AGENT_FAILURE_CODES } from '#execution/runner-protocol';
import { RunMetrics } from '../adapters/run-metrics.js';
import { MAX_ATTEMPTS, MAX_OFFERS } from '../domain/lease.js';
import { afterExternal } from '../domain/turn-outcome.js';
import { EXTERNAL_POOL, type StatusMessage } from '../domain/run.js';
import { ApprovalsStore } from '../persistence/approvals.store.js';
import { type Execution, ExecutionsStore } from '../persistence/executions.store.js';
import { FollowupsStore } from '../persistence/followups.store.js';
import type { NewRunEvent } from '../domain/run.js';
import { RunLogStore } from '../persistence/run-log.store.js';
import { type LockedRun, RunTransitions } from '../persistence/run-transitions.store.js';
import { withdrawnEvents } from './approvals.service.js';

/**
 * How an execution ends. `closed`: regularly. `handed_back`: before its agent started. `failed`: with an error that the
 * runner reports. `lost`: the runner does not report any more.
 */
export type Ending =
  | {
      readonly kind: 'closed' | 'handed_back' | 'lost';
      readonly reason: string;
      readonly exitCode?: number;
      /** A sentence about the cause, shown to people. */
      readonly detail?: string;
    }
  | { readonly kind: 'failed'; readonly reason: string; readonly status: StatusMessage; readonly exitCode?: number };

const LOST: StatusMessage = {
  message: 'The worker that executed the run stopped responding; its agent was stopped.',
  error_code: 'infrastructure_timeout',
  retryable: true,
};
const LOST_WORKER: StatusMessage = {
  ...LOST,
  message: 'The worker that executed the run stopped responding. Its agent may still be running there.',
};
const noWorker = (cause: string | undefined): StatusMessage => ({
  message: `The run was offered ${MAX_OFFERS} times and no worker started it.${cause === undefined ? '' : ` ${cause}`}`,
  error_code: 'resource_unavailable',
  retryable: true,
});
const VANISHED: StatusMessage = {
  message: 'The session ended while the run was in progress.',
  error_code: 'internal_error',
  retryable: true,
};
const USER_FAULTS = new Set<string>([
  ...AGENT_FAILURE_CODES,
  'environment_setup_failed',
  'budget_exceeded',
  'not_authorized',
  'content_policy_violation',
]);

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
interface Restart {
  readonly way: 'retry' | 'resume';
  readonly attempt: number;
}

interface Consequence {
  readonly transition: 'hand_back' | 'requeue' | 'retry' | 'fail' | 'give_up' | 'cancel';
  readonly status: StatusMessage | null;
  readonly restart?: Restart;
}

const QUEUES_AGAIN: ReadonlySet<Consequence['transition']> = new Set(['hand_back', 'requeue', 'retry']);

const lost = ({ worker_connection_id: connectionId }: Execution): StatusMessage =>
  connectionId === null ? LOST : LOST_WORKER;

const isLoss = (ending: Ending): boolean =>
  ending.kind === 'lost' || (ending.kind === 'failed' && ending.status.error_code === 'infrastructure_timeout');

/** A self-hosted worker may have started what it claimed although no runner has reported: no other worker starts it then. */
const isLostOnWorker = (execution: Execution, ending: Ending): boolean =>
  execution.worker_connection_id !== null && execution.phase === 'claimed' && isLoss(ending);

const continued = ({ message }: StatusMessage): StatusMessage => ({
  message: `${message} The run continues with the next message.`,
});

const restartStatus = ({ way, attempt }: Restart): StatusMessage => ({
  message: `The worker that executed the run was lost; the run ${way === 'resume' ? 'continues from its stored session' : 'starts again'} (attempt ${attempt} of ${MAX_ATTEMPTS}).`,
});

/** Ends executions: the slot, pending permission requests, and the transition of the run. The caller holds both locks. */
@Injectable()
export class ExecutionFinalizer {
  constructor(
    private readonly executions: ExecutionsStore,
    private readonly transitions: RunTransitions,
    private readonly log: RunLogStore,
    private readonly followups: FollowupsStore,
    private readonly approvals: ApprovalsStore,
    private readonly metrics: RunMetrics,
  ) {}

  /** Whether the run waits for another execution now. */
  async end(tx: Transaction, run: LockedRun, execution: Execution, ending: Ending): Promise<boolean> {
    const [withdrawn] = await Promise.all([
      this.approvals.dropPending(tx, run.id, execution.id),
      this.executions.end(tx, execution, ending.reason, ending.exitCode ?? null),
    ]);
    const events: NewRunEvent[] = withdrawnEvents(withdrawn);
    const consequence = await this.consequence(tx, run, execution, ending);
    if (consequence) {
      const moved = await this.transitions.apply(tx, run.id, consequence.transition, consequence.status);
      if (moved && consequence.transition === 'cancel') {
        events.push({
          kind: 'run_cancelled',
          data: { principal: { type: run.creator_type, uid: run.creator_uid } },
        });
      } else if (moved && consequence.status && !QUEUES_AGAIN.has(consequence.transition)) {
        events.push({
          kind: consequence.transition === 'fail' ? 'run_failed' : 'run_errored',
          data: { ...consequence.status },
        });
      }
    }
    // The only record of why a debug agent failed: the run keeps the message of its set-up.
    const why = execution.phase === 'debug' && ending.kind === 'failed' ? { message: ending.status.message } : {};
    const { restart } = consequence ?? {};
    // A worker that rejected the offer has not touched the run.
    if (ending.kind !== 'handed_back' || ending.reason !== 'rejected')
      events.push({ kind: 'sandbox_shutdown', data: { reason: ending.reason, ...why, ...(restart && { restart }) } });
    await this.log.append(tx, run.id, execution.id, events);
    const { reason, kind } = ending;
    tx.afterCommit(() => this.metrics.executionEnded(execution.pool, { reason, isLost: kind === 'lost' }));
    return consequence !== null && QUEUES_AGAIN.has(consequence.transition);
  }

  private async consequence(
    tx: Transaction,
    run: LockedRun,
    execution: Execution,
    ending: Ending,
  ): Promise<Consequence | null> {
    if (execution.phase === 'debug') return this.consequenceOfDebug(tx, run, execution);
    if (!['PENDING', 'CLAIMED', 'INPROGRESS', 'BLOCKED'].includes(run.state)) return null;
    const hasStarted = execution.phase === 'started' || execution.phase === 'idle' || isLostOnWorker(execution, ending);
    if (run.pool === EXTERNAL_POOL && ending.kind !== 'failed') {
      const hasMore = execution.phase === 'idle' && (await this.followups.hasPending(tx, run.id));
      return afterExternal({ reason: ending.reason, isLost: ending.kind === 'lost', hasMore });
    }
    if (hasStarted && execution.phase !== 'idle' && isLoss(ending)) {
      const restart = await this.restart(tx, run, execution);
      if (restart) return { transition: 'retry', status: restartStatus(restart), restart };
    }
    if (ending.kind === 'failed' && !(hasStarted && execution.phase === 'idle')) {
      const code = ending.status.error_code ?? 'internal_error';
      return { transition: USER_FAULTS.has(code) ? 'fail' : 'give_up', status: ending.status };
    }
    if (!hasStarted) {
      const cause = ending.kind === 'failed' ? undefined : ending.detail;
      return run.offers >= MAX_OFFERS
        ? { transition: 'give_up', status: noWorker(cause) }
        : { transition: 'hand_back', status: null };
    }
    const status = ending.kind === 'lost' ? lost(execution) : VANISHED;
    // Another execution gets the messages that the session has not started. Each one starts only once, so this ends.
    const continues = execution.phase !== 'claimed' && (await this.followups.hasPending(tx, run.id));
    if (!continues) return { transition: 'give_up', status };
    return { transition: 'requeue', status: execution.phase === 'idle' ? null : continued(status) };
  }

  /** The end of a debug session does not change its run; only messages that the session never got requeue the run. */
  private async consequenceOfDebug(tx: Transaction, run: LockedRun, { id }: Execution): Promise<Consequence | null> {
    await this.transitions.touch(tx, run.id);
    const hasMessages = run.state === 'FAILED' && (await this.followups.rerouteOfDebug(tx, run.id, id));
    return hasMessages ? { transition: 'requeue', status: null } : null;
  }

  /**
   * By `on_worker_lost` of the run. `retry`: from the prompt, in a new session. `resume`: from the stored session, with the
   * interrupted turn again; without a stored session like `retry`. Null: the run does not start again.
   */
  private async restart(tx: Transaction, run: LockedRun, execution: Execution): Promise<Restart | null> {
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
