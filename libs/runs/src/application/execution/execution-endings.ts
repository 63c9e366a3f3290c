import { Injectable } from '@nestjs/common';
import type { Queryable } from '#libs/persistence';
import { MAX_OFFERS } from '../../domain/lease.js';
import type { StatusMessage } from '../../domain/run.js';
import { ApprovalsStore } from '../../persistence/approvals.store.js';
import { DebugSessionsStore } from '../../persistence/debug-sessions.store.js';
import { type Execution, ExecutionsStore } from '../../persistence/executions.store.js';
import { FollowupsStore } from '../../persistence/followups.store.js';
import { RunLogStore, type NewRunEvent } from '../../persistence/run-log.store.js';
import { type LockedRun, RunMoves } from '../../persistence/run-moves.js';

/**
 * How an execution ends.
 * `closed`: in good order. `handed_back`: before its agent started. `failed`: by the user's side or ours, told by the
 * runner. `lost`: nobody heard of the runner any more.
 */
export type Ending =
  | { readonly kind: 'closed' | 'handed_back' | 'lost'; readonly reason: string; readonly exitCode?: number }
  | { readonly kind: 'failed'; readonly reason: string; readonly status: StatusMessage; readonly exitCode?: number };

const LOST: StatusMessage = {
  message: 'The worker that executed the run went silent; its agent was stopped.',
  error_code: 'infrastructure_timeout',
  retryable: true,
};
const NO_WORKER: StatusMessage = {
  message: `The run was offered ${MAX_OFFERS} times and no worker started it.`,
  error_code: 'resource_unavailable',
  retryable: true,
};
const VANISHED: StatusMessage = {
  message: 'The session ended while the run was in progress.',
  error_code: 'internal_error',
  retryable: true,
};
const USER_FAULTS = new Set([
  'environment_setup_failed',
  'agent_process_failed',
  'budget_exceeded',
  'content_policy_violation',
]);

/** The one place where an execution ends: its slot, its open questions, and what becomes of its run. Caller holds both locks. */
@Injectable()
export class ExecutionEndings {
  constructor(
    private readonly executions: ExecutionsStore,
    private readonly moves: RunMoves,
    private readonly log: RunLogStore,
    private readonly followups: FollowupsStore,
    private readonly approvals: ApprovalsStore,
    private readonly debugSessions: DebugSessionsStore,
  ) {}

  async end(tx: Queryable, run: LockedRun, execution: Execution, ending: Ending): Promise<void> {
    await this.executions.end(tx, execution.id, ending.reason, ending.exitCode ?? null);
    await this.approvals.dropPending(tx, run.id, execution.id);
    const events: NewRunEvent[] = [];
    const consequence = await this.consequence(tx, run, execution, ending);
    if (consequence) {
      const moved = await this.moves.move(tx, run.id, consequence.move, consequence.status);
      if (moved && consequence.status) {
        events.push({
          kind: consequence.move === 'fail' ? 'run_failed' : 'run_errored',
          data: { ...consequence.status },
        });
      }
    }
    // Nothing else tells why a debug agent has failed: the run keeps the message that its set-up failed with.
    const why = execution.phase === 'debug' && ending.kind === 'failed' ? { message: ending.status.message } : {};
    events.push({ kind: 'sandbox_shutdown', data: { reason: ending.reason, ...why } });
    await this.log.append(tx, run.id, execution.id, events);
  }

  private async consequence(
    tx: Queryable,
    run: LockedRun,
    execution: Execution,
    ending: Ending,
  ): Promise<{ move: 'hand_back' | 'requeue' | 'fail' | 'give_up'; status: StatusMessage | null } | null> {
    if (execution.phase === 'debug') return this.afterDebug(tx, run, execution);
    if (!['PENDING', 'CLAIMED', 'INPROGRESS', 'BLOCKED'].includes(run.state)) return null;
    const hasStarted = execution.phase === 'started' || execution.phase === 'idle';
    if (ending.kind === 'failed' && !(hasStarted && execution.phase === 'idle')) {
      const code = ending.status.error_code ?? 'internal_error';
      return { move: USER_FAULTS.has(code) ? 'fail' : 'give_up', status: ending.status };
    }
    if (!hasStarted) {
      return run.offers >= MAX_OFFERS ? { move: 'give_up', status: NO_WORKER } : { move: 'hand_back', status: null };
    }
    // An idle session that ends with a follow-up it never began: nothing was done yet, so another execution takes it.
    if (execution.phase === 'idle' && (await this.followups.hasPending(tx, run.id)))
      return { move: 'requeue', status: null };
    return { move: 'give_up', status: ending.kind === 'lost' ? LOST : VANISHED };
  }

  /** However a debug session ends, its run stays; only messages that it never took bring the run back into the queue. */
  private async afterDebug(
    tx: Queryable,
    run: LockedRun,
    execution: Execution,
  ): Promise<{ move: 'requeue'; status: null } | null> {
    await this.moves.touch(tx, run.id);
    const isLeftOver = run.state === 'FAILED' && (await this.debugSessions.reroute(tx, run.id, execution.id));
    return isLeftOver ? { move: 'requeue', status: null } : null;
  }
}
