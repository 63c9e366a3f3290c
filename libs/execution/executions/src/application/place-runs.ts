import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Database, type Statement, statement } from '#platform/persistence';
import { HOSTED_POOL } from '../domain/run.js';
import type { Offer } from './executors.js';

const PLACE: Statement = {
  name: 'runs.place',
  // The argument makes the order certain: sessions that wait for a slot first.
  text: `SELECT p.execution_id, p.run_id FROM (SELECT admit_debug_sessions($1, $2, $3) AS admitted OFFSET 0) a
    CROSS JOIN LATERAL place_runs($1, $2 + 0 * a.admitted, $3, $4, $5) p`,
};
const SET_CAPACITY = statement('slot-pools.set-capacity')`
  INSERT INTO slot_pools (key, used, capacity) VALUES ('pool:' || $1, 0, $2)
  ON CONFLICT (key) DO UPDATE SET capacity = excluded.capacity WHERE slot_pools.capacity <> excluded.capacity`;

/** One round trip makes at most so many offers. */
export const OFFERS_AT_ONCE = 20;

/** Offers queued runs while slots are free: one round trip for up to twenty. */
@Injectable()
export class PlaceRuns {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  /** The configured limit becomes the pool's; done once at start. */
  async setCapacity(): Promise<void> {
    await this.database.query(SET_CAPACITY, [HOSTED_POOL, this.settings.maxConcurrentRuns]);
  }

  /** `max`: of offers, at most {@link OFFERS_AT_ONCE}. */
  async execute(placedBy: string, max = OFFERS_AT_ONCE): Promise<Offer[]> {
    const rows = await this.database.query<{ execution_id: string; run_id: string }>(PLACE, [
      HOSTED_POOL,
      max,
      this.settings.maxConcurrentRunsPerTeam,
      this.settings.claimDeadline,
      placedBy,
    ]);
    return rows.map((row) => ({ executionId: row.execution_id, runId: row.run_id }));
  }
}
