import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import { AGENT_FAILURE_CODES } from '#execution/runner-protocol';
import { MAX_ATTEMPTS, MAX_OFFERS } from '../domain/lease.js';
import { afterExternal, type ExternalConsequence } from '../domain/turn-outcome.js';
import { EXTERNAL_POOL, type StatusMessage } from '../domain/run.js';
import { ApprovalsStore } from '../persistence/approvals.store.js';
import { type Execution, ExecutionsStore } from '../persistence/executions.store.js';
import { FollowupsStore } from '../persistence/followups.store.js';
import { type NewRunEvent, RunLogStore } from '../persistence/run-log.store.js';
import { type LockedRun, RunTransitions } from '../persistence/run-transitions.store.js';
import { type Restart, RestartPolicy } from './restart-policy.js';
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

interface Consequence {
  readonly transition: 'hand_back' | 'requeue' | 'retry' | 'fail' | 'give_up' | 'cancel';
  readonly status: StatusMessage | null;
  readonly restart?: Restart;
}

const lost = ({ worker_connection_id: connectionId }: Execution): StatusMessage =>
  connectionId === null ? LOST : LOST_WORKER;

const isLoss = (ending: Ending): boolean =>
  ending.kind === 'lost' || (ending.kind === 'failed' && ending.status.error_code === 'infrastructure_timeout');

/** A self-hosted worker may have started what it claimed although no runner has reported: no other worker starts it then. */
const isLostOnWorker = (execution: Execution, ending: Ending): boolean =>
  execution.worker_connection_id !== null && execution.phase === 'claimed' && isLoss(ending);

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
    private readonly restarts: RestartPolicy,
  ) {}

  async end(tx: Queryable, run: LockedRun, execution: Execution, ending: Ending): Promise<void> {
    await this.executions.end(tx, execution.id, ending.reason, ending.exitCode ?? null);
    const withdrawn = await this.approvals.dropPending(tx, run.id, execution.id);
    const events: NewRunEvent[] = withdrawnEvents(withdrawn);
    const consequence = await this.consequence(tx, run, execution, ending);
    if (consequence) {
      const moved = await this.transitions.apply(tx, run.id, consequence.transition, consequence.status);
      if (moved && consequence.transition === 'cancel') {
        events.push({
          kind: 'run_cancelled',
          data: { principal: { type: run.creator_type, uid: run.creator_uid } },
        });
      } else if (moved && consequence.status && consequence.transition !== 'retry') {
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
  }

  private async consequence(
    tx: Queryable,
    run: LockedRun,
    execution: Execution,
    ending: Ending,
  ): Promise<Consequence | null> {
    if (execution.phase === 'debug') return this.restarts.afterDebug(tx, run, execution);
    if (!['PENDING', 'CLAIMED', 'INPROGRESS', 'BLOCKED'].includes(run.state)) return null;
    const hasStarted = execution.phase === 'started' || execution.phase === 'idle' || isLostOnWorker(execution, ending);
    if (run.pool === EXTERNAL_POOL && ending.kind !== 'failed') return this.endExternal(tx, run, execution, ending);
    if (hasStarted && execution.phase !== 'idle' && isLoss(ending)) {
      const restart = await this.restarts.afterLoss(tx, run, execution);
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
    // A follow-up that the idle session never started: nothing was done yet, so another execution gets it.
    if (execution.phase === 'idle' && (await this.followups.hasPending(tx, run.id)))
      return { transition: 'requeue', status: null };
    return { transition: 'give_up', status: ending.kind === 'lost' ? lost(execution) : VANISHED };
  }

  private async endExternal(
    tx: Queryable,
    run: LockedRun,
    execution: Execution,
    ending: Ending,
  ): Promise<ExternalConsequence> {
    const hasMore = execution.phase === 'idle' && (await this.followups.hasPending(tx, run.id));
    return afterExternal({ reason: ending.reason, isLost: ending.kind === 'lost', hasMore });
  }
}
