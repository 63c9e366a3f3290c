import { Injectable } from '@nestjs/common';
import { BUILTIN_HARNESS } from '#execution/runner';
import { Database } from '#platform/persistence';
import { RunMetrics } from '../adapters/run-metrics.js';
import { limitStatus, reachedLimit } from '../domain/run-limits.js';
import type { RunUsage } from '../domain/run.js';
import { RunLimitsStore } from '../persistence/run-limits.store.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { RunLogStore } from '../persistence/run-log.store.js';
import { RunTransitions } from '../persistence/run-transitions.store.js';
import type { EventContext } from './event-context.js';
import { RunStopper } from './run-stopper.js';

const REASON = 'budget_exceeded';

/** Usage is checked when it is reported, working time by the sweeper. See docs/limits.md. */
@Injectable()
export class RunLimitEnforcer {
  constructor(
    private readonly database: Database,
    private readonly store: RunLimitsStore,
    private readonly executions: ExecutionsStore,
    private readonly transitions: RunTransitions,
    private readonly log: RunLogStore,
    private readonly stopper: RunStopper,
    private readonly metrics: RunMetrics,
  ) {}

  /** Adds what a turn has used. One round trip where no limit is reached. */
  async addUsage(context: EventContext, usage: RunUsage): Promise<void> {
    const { tx, run, execution } = context;
    const budget = await this.store.addUsage(tx, run.id, usage);
    tx.afterCommit(() => this.metrics.used(budget?.harness ?? BUILTIN_HARNESS, usage));
    const message = budget && reachedLimit(budget.limits, budget.spent);
    if (message === null || execution.desired === 'stop' || execution.desired === 'kill') return;
    // A debug agent's run has failed before: only the agent is stopped.
    context.log.push(...(await this.stopper.fail(tx, run.id, execution.id, limitStatus(message), REASON)));
    context.execution = { ...execution, desired: 'stop', desired_reason: REASON };
  }

  async endIfDue(runId: string, executionId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const run = await this.transitions.lock(tx, runId);
      const execution = await this.executions.lock(tx, executionId);
      if (run?.state !== 'INPROGRESS' || execution?.desired !== 'run') return;
      const budget = await this.store.budget(tx, runId);
      const minutes = budget?.limits.max_runtime_minutes;
      if (!budget || typeof minutes !== 'number') return;
      const message = reachedLimit({ max_runtime_minutes: minutes }, budget.spent);
      if (message === null) return this.store.postpone(tx, executionId, minutes * 60_000 - budget.spent.workedMs);
      const events = await this.stopper.fail(tx, runId, executionId, limitStatus(message), REASON);
      await this.log.append(tx, runId, executionId, events);
    });
  }
}
