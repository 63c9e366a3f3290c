import { Injectable } from '@nestjs/common';
import { Database, type Transaction } from '#platform/persistence';
import { STOP_FENCE_MS } from '../domain/lease.js';
import type { PrincipalRef, StatusMessage } from '../domain/run.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { FollowupsStore } from '../persistence/followups.store.js';
import type { NewRunEvent } from '../domain/run.js';
import { RunLogStore } from '../persistence/run-log.store.js';
import { RunTransitions } from '../persistence/run-transitions.store.js';

/** Ends runs while their agents work: the run at once, its agent as soon as its runner reads the command. */
@Injectable()
export class RunStopper {
  constructor(
    private readonly database: Database,
    private readonly executions: ExecutionsStore,
    private readonly followups: FollowupsStore,
    private readonly transitions: RunTransitions,
    private readonly log: RunLogStore,
  ) {}

  cancel(tx: Transaction, runId: string, executionId: string | null, message: string, principal: PrincipalRef) {
    const event: NewRunEvent = { kind: 'run_cancelled', data: { principal } };
    return this.stop(tx, runId, executionId, { event, status: { message, retryable: false }, reason: 'cancelled' });
  }

  fail(tx: Transaction, runId: string, executionId: string, status: StatusMessage, reason: string) {
    return this.stop(tx, runId, executionId, { event: { kind: 'run_failed', data: { ...status } }, status, reason });
  }

  /** Cancels what a principal without rights has at work, or closes their idle session. */
  async stopWithoutRights(runId: string, executionId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const run = await this.transitions.lock(tx, runId);
      const execution = await this.executions.lock(tx, executionId);
      if (!run || !execution || execution.desired === 'stop' || execution.desired === 'kill') return;
      const principal = { type: run.creator_type, uid: run.creator_uid };
      const events = await this.cancel(
        tx,
        runId,
        executionId,
        'Cancelled: the account was disabled, or may not create such runs any more.',
        principal,
      );
      await this.log.append(tx, runId, executionId, events);
    });
  }

  /**
   * Returns the log entry of the transition; none when the run was not at work any more, as of an idle session or a debug
   * window. The caller holds the locks of the run and the execution.
   */
  private async stop(
    tx: Transaction,
    runId: string,
    executionId: string | null,
    { event, status, reason }: { readonly event: NewRunEvent; readonly status: StatusMessage; readonly reason: string },
  ): Promise<NewRunEvent[]> {
    const transition = event.kind === 'run_cancelled' ? 'cancel' : 'fail';
    const isMoved = await this.transitions.apply(tx, runId, transition, status);
    // What waits for the run is cancelled with it, or would have no budget either.
    await this.followups.dropPending(tx, runId);
    if (executionId !== null)
      await this.executions.command(tx, executionId, { desired: 'stop', reason, fenceAfterMs: STOP_FENCE_MS });
    return isMoved ? [event] : [];
  }
}
