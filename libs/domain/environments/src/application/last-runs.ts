import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import type { LastRun } from '../domain/last-run.js';

/** Knows which run was the last in an environment. The room of the runs registers one with {@link LastRuns}. */
export abstract class LastRunSource {
  /**
   * By the environment's uid, among the runs that the caller may read; environments without one are not there. A bounded
   * number of round trips, however many environments are asked for.
   */
  abstract find(caller: Caller, environmentUids: readonly string[]): Promise<ReadonlyMap<string, LastRun>>;
}

const NONE: ReadonlyMap<string, LastRun> = new Map();

/** Runs lie in a room above this one: it comes and says where to ask. */
@Injectable()
export class LastRuns {
  private source: LastRunSource | null = null;

  register(source: LastRunSource): void {
    if (this.source !== null) throw new Error('Somebody else tells the last runs of environments already.');
    this.source = source;
  }

  async find(caller: Caller, environmentUids: readonly string[]): Promise<ReadonlyMap<string, LastRun>> {
    return environmentUids.length === 0 ? NONE : ((await this.source?.find(caller, environmentUids)) ?? NONE);
  }
}
