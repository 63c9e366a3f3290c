import { Injectable } from '@nestjs/common';
import { Database, type Queryable } from '#platform/persistence';
import { limitStatus, reachedLimit } from '../domain/run-limits.js';
import { STOP_FENCE_MS } from '../domain/lease.js';
import type { RunUsage, StatusMessage } from '../domain/run.js';
import { RunLimitsStore } from '../persistence/run-limits.store.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { FollowupsStore } from '../persistence/followups.store.js';
import { RunLogStore } from '../persistence/run-log.store.js';
import { RunTransitions } from '../persistence/run-transitions.store.js';
import type { EventContext } from './event-context.js';

/**
 * Ends runs that have used up what they may: FAILED at once, once, and the agent is stopped as by a cancel. Usage is
 * looked at when it is reported, working time by the sweeper. See docs/limits.md.
 */
@Injectable()
export class RunLimitEnforcer {
  constructor(
    private readonly database: Database,
    private readonly store: RunLimitsStore,
    private readonly executions: ExecutionsStore,
    private readonly followups: FollowupsStore,
    private readonly transitions: RunTransitions,
    private readonly log: RunLogStore,
  ) {}

  /** Notes what a turn has used. One round trip where no ceiling is reached. */
  async addUsage(context: EventContext, usage: RunUsage): Promise<void> {
    const { tx, run, execution } = context;
    const budget = await this.store.addUsage(tx, run.id, usage);
    const message = budget && reachedLimit(budget.limits, budget.spent);
    if (message === null || execution.desired === 'stop' || execution.desired === 'kill') return;
    const status = limitStatus(message);
    // A debug agent's run has failed before: only the agent is stopped.
    const moved = await this.stop(tx, run.id, execution.id, status);
    if (moved) context.log.push({ kind: 'run_failed', data: { ...status } });
    context.execution = { ...execution, desired: 'stop', desired_reason: 'budget_exceeded' };
  }

  /** Ends the runs whose agents have worked for as long as they may. */
  async sweep(each: (what: string, work: () => Promise<void>) => Promise<void>): Promise<void> {
    for (const { id, run_id: runId } of await this.store.due())
      await each(`the ceiling of run ${runId}`, () => this.endIfDue(runId, id));
  }

  private async endIfDue(runId: string, executionId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const run = await this.transitions.lock(tx, runId);
      const execution = await this.executions.lock(tx, executionId);
      if (run?.state !== 'INPROGRESS' || execution?.desired !== 'run') return;
      const budget = await this.store.budget(tx, runId);
      const minutes = budget?.limits.maxRuntimeMinutes;
      if (!budget || minutes === undefined) return;
      const message = reachedLimit({ maxRuntimeMinutes: minutes }, budget.spent);
      if (message === null) return this.store.postpone(tx, executionId, minutes * 60_000 - budget.spent.workedMs);
      const status = limitStatus(message);
      if (await this.stop(tx, runId, executionId, status))
        await this.log.append(tx, runId, executionId, [{ kind: 'run_failed', data: { ...status } }]);
    });
  }

  /** False when the run was not at work any more. What waits for it would have no budget either. */
  private async stop(tx: Queryable, runId: string, executionId: string, status: StatusMessage): Promise<boolean> {
    const moved = await this.transitions.apply(tx, runId, 'fail', status);
    await this.followups.dropPending(tx, runId);
    await this.executions.command(tx, executionId, {
      desired: 'stop',
      reason: 'budget_exceeded',
      fenceAfterMs: STOP_FENCE_MS,
    });
    return moved;
  }
}
