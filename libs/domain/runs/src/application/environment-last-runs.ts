import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { type LastRun, LastRuns, LastRunSource } from '#domain/environments';
import { QUERY_CANCELED, sqlState } from '#platform/persistence';
import { slotKeys } from '#execution/executions';
import { EnvironmentRunsStore } from '../persistence/environment-runs.store.js';
import { SearchLimiter } from './list-gate.js';
import { readableBy } from './run-access.js';

/**
 * Tells the room of the environments the last run in each, among those that the caller may read: a guest learns nothing
 * of what others do in what was shared with them. It takes a turn of the searches; without one, or when it takes too
 * long, the environments are shown without their runs.
 */
@Injectable()
export class EnvironmentLastRuns extends LastRunSource implements OnModuleInit {
  private readonly logger = new Logger(EnvironmentLastRuns.name);

  constructor(
    private readonly lastRuns: LastRuns,
    private readonly store: EnvironmentRunsStore,
    private readonly gate: SearchLimiter,
  ) {
    super();
  }

  onModuleInit(): void {
    this.lastRuns.register(this);
  }

  override async find(caller: Caller, environmentUids: readonly string[]): Promise<ReadonlyMap<string, LastRun>> {
    const owners = slotKeys(readableBy(caller));
    const runs = owners.length === 0 ? [] : ((await this.ask(environmentUids, owners)) ?? []);
    return new Map(runs.map(({ environmentUid, ...run }) => [environmentUid, run]));
  }

  private async ask(environmentUids: readonly string[], owners: readonly string[]) {
    try {
      return await this.gate.run(() => this.store.latest(environmentUids, owners));
    } catch (error) {
      if (sqlState(error) !== QUERY_CANCELED) throw error;
      this.logger.warn(`The last runs in ${environmentUids.length} environments were not found in time.`);
      return null;
    }
  }
}
