import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { BackgroundTasks, type PeriodicTask } from '#platform/jobs';
import { Clock } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { RepairFacets } from '../application/repair-facets.js';
import { PruneRuns } from '../application/prune-runs.js';
import {
  ENSURE_PARTITIONS_TASK,
  PRUNE_IDEMPOTENCY_KEYS_TASK,
  PRUNE_RUNS_TASK,
  REPAIR_FACETS_TASK,
} from './maintenance-jobs.js';

/** However long an evaluation or a schedule was interrupted, it does not start a second time what it has started. */
const LAUNCH_KEY_TTL_MS = 30 * 24 * 3_600_000;
/** Pruning ends after this time so that the other tasks of the queue can run; the next run continues where it ended. */
const MAX_PRUNING_MS = 10 * 60_000;

/** Keeps the tables of runs small and complete. */
@Injectable()
export class RunMaintenance {
  private readonly logger = new Logger(RunMaintenance.name);
  private readonly implemented: readonly PeriodicTask[];

  constructor(
    tasks: BackgroundTasks,
    repairFacets: RepairFacets,
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly prune: PruneRuns,
    private readonly clock: Clock,
  ) {
    this.implemented = [
      tasks.implement(PRUNE_IDEMPOTENCY_KEYS_TASK, () => this.pruneIdempotencyKeys()),
      tasks.implement(ENSURE_PARTITIONS_TASK, async () => {
        await database.query(`SELECT headrace.ensure_run_event_partitions(3)`);
      }),
      tasks.implement(PRUNE_RUNS_TASK, (signal) => this.pruneRuns(signal)),
      tasks.implement(REPAIR_FACETS_TASK, async (signal) => {
        await repairFacets.run(signal);
      }),
    ];
  }

  /** A run under way ends after its current step. */
  async stop(): Promise<void> {
    await Promise.all(this.implemented.map((task) => task.stop()));
  }

  private async pruneIdempotencyKeys(): Promise<void> {
    await this.database.query(
      `DELETE FROM idempotency_keys WHERE created_at < headrace.now() - $1 * interval '1 millisecond'
          AND (NOT is_launch OR created_at < headrace.now() - $2 * interval '1 millisecond')`,
      [this.settings.idempotencyKeyTtl, LAUNCH_KEY_TTL_MS],
    );
  }

  private async pruneRuns(signal: AbortSignal): Promise<void> {
    const deadline = this.clock.now().getTime() + MAX_PRUNING_MS;
    for (const kind of this.prune.kinds) {
      let pruned = 0;
      for (let hasMore = true; hasMore && !signal.aborted && this.clock.now().getTime() < deadline;) {
        const step = await this.prune.step(kind);
        pruned += step.pruned;
        hasMore = step.hasMore;
      }
      if (pruned > 0) this.logger.log(`Retention (${kind}): ${pruned} run(s) were pruned.`);
    }
  }
}
