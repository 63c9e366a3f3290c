import { Injectable } from '@nestjs/common';
import { Database, statement } from '#platform/persistence';
import { STOP_FENCE_MS } from '../domain/lease.js';
import { EXTERNAL_POOL } from '../domain/run.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { FollowupsStore } from '../persistence/followups.store.js';
import { RunLogStore } from '../persistence/run-log.store.js';
import { RunTransitions } from '../persistence/run-transitions.store.js';

/**
 * Personal runs of a disabled user, and runs that they execute on another machine. A run that is being offered is
 * left alone: it fails when it is claimed.
 */
const LIVE = statement('executions.live-of-disabled-users')`SELECT e.id, e.run_id FROM executions e
   JOIN runs r ON r.id = e.run_id
   JOIN users u ON u.uid = coalesce(r.owner_user_uid, CASE WHEN r.pool = '${EXTERNAL_POOL}' THEN r.creator_uid END)
   WHERE e.ended_at IS NULL AND e.phase <> 'offered' AND e.desired NOT IN ('stop', 'kill') AND u.disabled_at IS NOT NULL
   LIMIT 200`;

/** Cancels what a disabled user has at work, and closes their idle sessions. */
@Injectable()
export class DisabledUsers {
  constructor(
    private readonly database: Database,
    private readonly executions: ExecutionsStore,
    private readonly followups: FollowupsStore,
    private readonly transitions: RunTransitions,
    private readonly log: RunLogStore,
  ) {}

  async sweep(each: (what: string, work: () => Promise<void>) => Promise<void>): Promise<void> {
    for (const { id, run_id: runId } of await this.database.query<{ id: string; run_id: string }>(LIVE))
      await each(`the run ${runId} of a disabled user`, () => this.stop(runId, id));
  }

  private async stop(runId: string, executionId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const run = await this.transitions.lock(tx, runId);
      const execution = await this.executions.lock(tx, executionId);
      if (!run || !execution || execution.desired === 'stop' || execution.desired === 'kill') return;
      await this.followups.dropPending(tx, runId);
      const principal = { type: run.creator_type, uid: run.creator_uid };
      // An idle session or a debug window belongs to a run that has ended: that one stays what it is.
      if (
        await this.transitions.apply(tx, runId, 'cancel', {
          message: 'Cancelled: the user was disabled.',
          retryable: false,
        })
      )
        await this.log.append(tx, runId, executionId, [{ kind: 'run_cancelled', data: { principal } }]);
      await this.executions.command(tx, executionId, {
        desired: 'stop',
        reason: 'cancelled',
        fenceAfterMs: STOP_FENCE_MS,
      });
    });
  }
}
