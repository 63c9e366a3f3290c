import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import type { LastRun } from '../domain/environment.js';

/** Finds the last run in an environment. The library that owns runs registers one with {@link LastRuns}. */
export abstract class LastRunSource {
  /**
   * By the environment's uid, among the runs that the caller may read; environments without one are absent. The number of
   * round trips does not depend on the number of environments.
   */
  abstract find(caller: Caller, environmentUids: readonly string[]): Promise<ReadonlyMap<string, LastRun>>;
}

const NONE: ReadonlyMap<string, LastRun> = new Map();

/** Inverts the dependency: the library that owns runs is above this one. */
@Injectable()
export class LastRuns {
  private source: LastRunSource | null = null;

  register(source: LastRunSource): void {
    if (this.source !== null) throw new Error('A source of the last runs is registered already.');
    this.source = source;
  }

  async find(caller: Caller, environmentUids: readonly string[]): Promise<ReadonlyMap<string, LastRun>> {
    return environmentUids.length === 0 ? NONE : ((await this.source?.find(caller, environmentUids)) ?? NONE);
  }
}
