import { Injectable, Logger } from '@nestjs/common';
import { Clock, uuidFloor } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { FacetRepairsStore } from '../persistence/facet-repairs.store.js';

/** Runs looked at in one transaction. */
const BATCH = 1000;
/** Runs younger than this are looked at again: ids are made before their rows are committed, and by several clocks. */
const SETTLED_AFTER_MS = 10 * 60_000;
const LONGEST_ROUND_MS = 60_000;

interface Step {
  /** Runs that lacked something. */
  readonly repaired: number;
  /** The last run looked at; null: there are no more, or another process is at it. */
  readonly last: string | null;
}

const NOTHING: Step = { repaired: 0, last: null };

/**
 * Gives runs the facets and ancestors that they lack, because a process of an older version has created them: such
 * processes may go on for a while after the tables were migrated. Goes through the runs once, by their ids.
 */
@Injectable()
export class RepairFacets {
  private readonly logger = new Logger(RepairFacets.name);

  constructor(
    private readonly database: Database,
    private readonly store: FacetRepairsStore,
    private readonly clock: Clock,
  ) {}

  /** For a minute at most, and until `signal` is aborted; the next run continues. Returns how many runs were incomplete. */
  async run(signal?: AbortSignal): Promise<number> {
    const start = this.clock.now().getTime();
    const settled = uuidFloor(new Date(start - SETTLED_AFTER_MS));
    let step = await this.step(null, settled);
    let { repaired } = step;
    while (step.last !== null && signal?.aborted !== true && this.clock.now().getTime() - start < LONGEST_ROUND_MS) {
      step = await this.step(step.last, settled);
      repaired += step.repaired;
    }
    if (repaired > 0) this.logger.log(`${repaired} run(s) that an older version had created were completed.`);
    return repaired;
  }

  /** The next runs behind `after`, or, when that is null, behind where everything was looked at. */
  private async step(after: string | null, settled: string): Promise<Step> {
    return this.database.transaction(async (tx) => {
      const upto = await this.store.lock(tx);
      if (upto === null) return NOTHING;
      const from = after ?? upto;
      const { to, count } = await this.store.next(tx, from, BATCH);
      if (to === null) return NOTHING;
      const range = { after: from, to };
      const changed: string[] = [];
      for (let generation = await this.store.setAncestors(tx, range); generation.length > 0;) {
        changed.push(...generation);
        generation = await this.store.setAncestors(tx, range);
      }
      const repaired = await this.store.writeFacets(tx, range, changed);
      await this.store.setUpto(tx, to < settled ? to : settled);
      return { repaired, last: count === BATCH ? to : null };
    });
  }
}
