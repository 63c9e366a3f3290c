import { Injectable } from '@nestjs/common';
import { RunInserts } from '../persistence/run-inserts.js';

/** What the service has started by itself, by the launch keys of `CreateRun`. */
@Injectable()
export class LaunchedRuns {
  constructor(private readonly inserts: RunInserts) {}

  /** Ids of the runs that were started under these keys, by key; a key without a run is not there. One round trip. */
  find(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.inserts.findLaunched(keys);
  }
}
