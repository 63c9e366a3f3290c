import { Injectable } from '@nestjs/common';
import type { ExecutionRef } from '#execution/worker';
import { Settings } from '#platform/config';
import { Database, statement } from '#platform/persistence';
import { RunMetrics } from '../adapters/run-metrics.js';
import { HOSTED_POOL, type WorkerPoolKeys } from '../domain/run.js';

const PLACE = statement('executions.place')`
  SELECT execution_id AS "executionId", run_id AS "runId", connection_id AS "connectionId", pool, slot_key AS "slotKey"
    FROM place_executions($1::text[], $2::text[], $3, $4, $5, $6)`;
const SET_CAPACITY = statement('slot-pools.set-capacity')`
  INSERT INTO slot_pools (key, used, capacity) VALUES ('pool:' || $1, 0, $2)
  ON CONFLICT (key) DO UPDATE SET capacity = excluded.capacity WHERE slot_pools.capacity <> excluded.capacity`;

/** The most runs of one pool that one statement offers. */
export const OFFERS_AT_ONCE = 20;

/** An offer to a connection; without one, all connections of the pool are full while runs wait. */
export interface PlacementRow extends WorkerPoolKeys {
  readonly connectionId: string | null;
}

@Injectable()
export class PlacementStore {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly metrics: RunMetrics,
  ) {}

  async setCapacity(): Promise<void> {
    await this.database.query(SET_CAPACITY, [HOSTED_POOL, this.settings.maxConcurrentRuns]);
  }

  /** Offers up to `max` hosted runs, of all owners, to the caller. One round trip. */
  placeHosted(placedBy: string, max = OFFERS_AT_ONCE): Promise<ExecutionRef[]> {
    return this.place<ExecutionRef>([HOSTED_POOL], [null], max, placedBy);
  }

  /** Offers what waits in these pools to their connections, up to 20 runs each. One round trip. */
  placeOnWorkers(pools: readonly WorkerPoolKeys[], placedBy: string): Promise<PlacementRow[]> {
    const names = pools.map(({ pool }) => pool);
    const owners = pools.map(({ slotKey }) => slotKey);
    return this.place<PlacementRow>(names, owners, OFFERS_AT_ONCE, placedBy);
  }

  private async place<Row extends ExecutionRef | PlacementRow>(
    pools: readonly string[],
    slotKeys: readonly (string | null)[],
    max: number,
    placedBy: string,
  ): Promise<Row[]> {
    const { maxConcurrentRunsPerTeam, claimDeadline } = this.settings;
    const values = [pools, slotKeys, max, maxConcurrentRunsPerTeam, claimDeadline, placedBy];
    const rows = await this.database.query<Row & { executionId: string | null; pool: string }>(PLACE, values);
    for (const { executionId, pool } of rows) if (executionId !== null) this.metrics.placed(pool);
    return rows;
  }
}
