import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { AccessChanges } from '#platform/auth';
import { Settings } from '#platform/config';
import { BackgroundTasks, type PeriodicTask } from '#platform/jobs';
import { Database, statement } from '#platform/persistence';
import { HOSTED_POOL } from '../domain/run.js';
import type { Offer } from './hosted-task.js';
import { HostedWorker } from './hosted-worker.js';
import { SweepExecutions } from './sweep-executions.js';
import { PLACE_RUNS_TASK, SWEEP_EXECUTIONS_TASK } from './tasks.js';

/** The argument makes the order certain: sessions that wait for a slot first. */
const PLACE = statement('runs.place')`
  SELECT p.execution_id AS "executionId", p.run_id AS "runId"
    FROM (SELECT admit_debug_sessions($1, $2, $3) AS admitted OFFSET 0) a
    CROSS JOIN LATERAL place_runs($1, $2 + 0 * a.admitted, $3, $4, $5) p`;
const SET_CAPACITY = statement('slot-pools.set-capacity')`
  INSERT INTO slot_pools (key, used, capacity) VALUES ('pool:' || $1, 0, $2)
  ON CONFLICT (key) DO UPDATE SET capacity = excluded.capacity WHERE slot_pools.capacity <> excluded.capacity`;

const OFFERS_AT_ONCE = 20;

/** Offers queued runs while slots are free: one round trip for up to twenty. */
@Injectable()
export class PlaceRuns {
  private readonly process = randomUUID();

  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  async setCapacity(): Promise<void> {
    await this.database.query(SET_CAPACITY, [HOSTED_POOL, this.settings.maxConcurrentRuns]);
  }

  /** Offers what the worker can start now. `again`: something was offered, so there may be more. */
  async placeOn(worker: HostedWorker): Promise<'again' | void> {
    const max = Math.min(OFFERS_AT_ONCE, await worker.capacity());
    // The next period repeats this: runners that start now will have claimed their executions by then, or not.
    if (max < 1) return;
    const offers = await this.execute(this.process, max);
    for (const offer of offers) worker.execute(offer);
    if (offers.length > 0) return 'again';
  }

  execute(placedBy: string, max = OFFERS_AT_ONCE): Promise<Offer[]> {
    const { maxConcurrentRunsPerTeam, claimDeadline } = this.settings;
    return this.database.query<Offer>(PLACE, [HOSTED_POOL, max, maxConcurrentRunsPerTeam, claimDeadline, placedBy]);
  }
}

@Injectable()
export class ExecutionWork implements OnApplicationBootstrap {
  private readonly placement: PeriodicTask;
  private readonly sweeper: PeriodicTask;
  private unsubscribe: (() => void) | null = null;

  constructor(
    private readonly placeRuns: PlaceRuns,
    private readonly worker: HostedWorker,
    private readonly changes: AccessChanges,
    private readonly tasks: BackgroundTasks,
    private readonly settings: Settings,
    sweep: SweepExecutions,
  ) {
    // Nothing is placed before the backend is prepared.
    this.placement = tasks.implement(PLACE_RUNS_TASK, () => placeRuns.placeOn(worker), { startsBy: 'owner' });
    this.sweeper = tasks.implement(SWEEP_EXECUTIONS_TASK, async () => void (await sweep.execute()));
  }

  onApplicationBootstrap(): void {
    this.unsubscribe = this.changes.subscribe(() => this.sweeper.wake());
  }

  async start(): Promise<void> {
    await this.worker.start();
    await this.placeRuns.setCapacity();
    await this.tasks.start(this.placement);
  }

  async drain(): Promise<void> {
    await this.placement.stop();
    await this.worker.drain(this.settings.shutdownGrace);
    this.unsubscribe?.();
    await this.sweeper.stop();
  }
}
