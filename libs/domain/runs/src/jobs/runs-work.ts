import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { BackgroundTasks, defineTask, type PeriodicTask } from '#platform/jobs';
import { Clock } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { ExecutionWork } from '#execution/executions';
import { ConcurrentRuns } from '../application/concurrent-runs.js';
import { CancelChildRuns } from '../application/cancel-child-runs.js';
import { CollectRunWords } from '../application/collect-run-words.js';
import { RepairFacets } from '../application/repair-facets.js';
import { PruneRuns } from '../application/prune-runs.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const COMMON = {
  library: 'runs',
  process: 'processor',
  scope: 'cluster',
  queue: { name: 'runs-maintenance', options: { concurrency: 1, runRetryDelay: 1000 } },
} as const;

const PRUNE_IDEMPOTENCY_KEYS_TASK = defineTask({
  ...COMMON,
  name: 'prune-idempotency-keys',
  period: HOUR_MS,
  description: 'Deletes idempotency keys older than `IDEMPOTENCY_KEY_TTL`, and those of launches after 30 days.',
});
const PRUNE_RUNS_TASK = defineTask({
  ...COMMON,
  name: 'prune-runs',
  period: HOUR_MS,
  description: 'Deletes what the retention settings do not keep, for at most ten minutes at a time.',
});
const REPAIR_FACETS_TASK = defineTask({
  ...COMMON,
  name: 'repair-run-facets',
  period: 5 * MINUTE_MS,
  description: 'Completes runs that a process of an older version has created.',
});
const COLLECT_RUN_WORDS_TASK = defineTask({
  ...COMMON,
  name: 'collect-run-words',
  period: 5 * MINUTE_MS,
  description:
    'Collects the words of runs, in which the search corrects misspelt words, for at most a minute at a time.',
});
const CANCEL_CHILD_RUNS_TASK = defineTask({
  library: 'runs',
  process: 'processor',
  scope: 'process',
  name: 'cancel-child-runs',
  period: 2_000,
  description: 'Cancels the runs that agents of cancelled runs have started.',
});
const ENSURE_PARTITIONS_TASK = defineTask({
  ...COMMON,
  name: 'ensure-event-partitions',
  period: HOUR_MS,
  description: 'Creates the partitions of the event log for the next three months.',
});

const RELEASE_HELD_RUNS_TASK = defineTask({
  library: 'runs',
  process: 'processor',
  scope: 'process',
  name: 'release-held-runs',
  period: 1000,
  description:
    'Lets runs be placed that have waited for earlier runs with the same concurrency key, or for later events.',
});

/** However long an evaluation or a schedule was interrupted, it does not start a second time what it has started. */
const LAUNCH_KEY_TTL_MS = 30 * 24 * HOUR_MS;
/** Pruning ends after this time so that the other tasks of the queue can run; the next run continues where it ended. */
const MAX_PRUNING_MS = 10 * MINUTE_MS;

@Injectable()
export class RunsWork {
  private readonly logger = new Logger(RunsWork.name);
  private readonly maintenance: readonly PeriodicTask[];

  constructor(
    tasks: BackgroundTasks,
    repairFacets: RepairFacets,
    collectWords: CollectRunWords,
    concurrent: ConcurrentRuns,
    cancelChildRuns: CancelChildRuns,
    private readonly executions: ExecutionWork,
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly prune: PruneRuns,
    private readonly clock: Clock,
  ) {
    this.maintenance = [
      tasks.implement(PRUNE_IDEMPOTENCY_KEYS_TASK, () => this.pruneIdempotencyKeys()),
      tasks.implement(ENSURE_PARTITIONS_TASK, async () => {
        await database.query(`SELECT headrace.ensure_run_event_partitions(3)`);
      }),
      tasks.implement(PRUNE_RUNS_TASK, (signal) => this.pruneRuns(signal)),
      tasks.implement(RELEASE_HELD_RUNS_TASK, (signal) => concurrent.releaseHeld(signal)),
      tasks.implement(CANCEL_CHILD_RUNS_TASK, (signal) => cancelChildRuns.run(signal)),
      tasks.implement(REPAIR_FACETS_TASK, async (signal) => {
        await repairFacets.run(signal);
      }),
      tasks.implement(COLLECT_RUN_WORDS_TASK, async (signal) => {
        await collectWords.run(signal);
      }),
    ];
  }

  /** Called when everything else has started; rejects when the executor cannot work with these settings. */
  async start(): Promise<void> {
    await this.executions.start();
  }

  /** Stops the background work before the application closes. A task under way ends after its current step. */
  async drain(): Promise<void> {
    await Promise.all([this.executions.drain(), ...this.maintenance.map((task) => task.stop())]);
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
