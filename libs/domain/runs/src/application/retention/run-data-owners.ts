import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import type { RunDataOwner } from './run-data-owner.js';

/** Everybody who has to be told when something of a run is pruned. */
@Injectable()
export class RunDataOwners {
  private readonly owners = new Set<RunDataOwner>();

  register(owner: RunDataOwner): void {
    this.owners.add(owner);
  }

  async removeRuns(tx: Queryable, runIds: readonly string[]): Promise<void> {
    for (const owner of this.owners) await owner.removeRuns(tx, runIds);
  }

  async removeLogs(tx: Queryable, runIds: readonly string[]): Promise<void> {
    for (const owner of this.owners) await owner.removeLogs(tx, runIds);
  }
}
