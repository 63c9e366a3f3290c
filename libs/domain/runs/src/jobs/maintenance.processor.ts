import { InjectQueue, Processor } from '@nestjs/bullmq';
import { Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { Settings } from '#platform/config';
import { handles, JobProcessor } from '#platform/jobs';
import { Database } from '#platform/persistence';
import { RepairFacets } from '../application/repair-facets.js';
import {
  ENSURE_PARTITIONS_JOB,
  PRUNE_IDEMPOTENCY_KEYS_JOB,
  PRUNE_RUNS_JOB,
  REPAIR_FACETS_JOB,
} from './maintenance-jobs.js';
import { RetentionRounds } from './retention-rounds.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SCHEDULE = [
  [PRUNE_IDEMPOTENCY_KEYS_JOB, HOUR_MS],
  [ENSURE_PARTITIONS_JOB, HOUR_MS],
  [PRUNE_RUNS_JOB, HOUR_MS],
  [REPAIR_FACETS_JOB, 5 * MINUTE_MS],
] as const;

/** However long an evaluation or a schedule was interrupted, it does not start what it had started. */
const LAUNCH_KEY_TTL_MS = 30 * 24 * HOUR_MS;

/** Housekeeping of the runs room, on BullMQ's own clock: as often as the schedule says over all processes. */
@Processor(PRUNE_IDEMPOTENCY_KEYS_JOB.queue, { concurrency: 1, runRetryDelay: 1000 })
export class MaintenanceProcessor extends JobProcessor implements OnApplicationBootstrap {
  private readonly logger = new Logger(MaintenanceProcessor.name);

  readonly handlers = [
    handles(PRUNE_IDEMPOTENCY_KEYS_JOB, async () => {
      await this.database.query(
        `DELETE FROM idempotency_keys WHERE created_at < headrace.now() - $1 * interval '1 millisecond'
            AND (NOT is_launch OR created_at < headrace.now() - $2 * interval '1 millisecond')`,
        [this.settings.idempotencyKeyTtl, LAUNCH_KEY_TTL_MS],
      );
    }),
    handles(ENSURE_PARTITIONS_JOB, async () => {
      await this.database.query(`SELECT headrace.ensure_run_event_partitions(3)`);
    }),
    handles(PRUNE_RUNS_JOB, () => this.retention.round()),
    handles(REPAIR_FACETS_JOB, async () => {
      await this.repairFacets.round();
    }),
  ];

  constructor(
    @InjectQueue(PRUNE_IDEMPOTENCY_KEYS_JOB.queue) private readonly queue: Queue,
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly retention: RetentionRounds,
    private readonly repairFacets: RepairFacets,
  ) {
    super();
    queue.on('error', (error) => this.logger.warn(`The maintenance queue reports: ${error.message}`));
  }

  async onApplicationBootstrap(): Promise<void> {
    for (const [job, every] of SCHEDULE) {
      await this.queue.upsertJobScheduler(
        job.name,
        { every },
        { name: job.name, data: {}, opts: { removeOnComplete: true, removeOnFail: true } },
      );
    }
  }
}
