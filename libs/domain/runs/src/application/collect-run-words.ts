import { Injectable } from '@nestjs/common';
import { Clock } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { RunWordsStore } from '../persistence/run-words.store.js';

const BATCH = 1000;
/** The runs of each of them may be looked up in the texts. */
const CHECK_BATCH = 100;
const LONGEST_ROUND_MS = 60_000;
/** Checks all words of a million in eight hours. */
const MAX_CHECKED = 10_000;

/** Collects the words of runs for the search, and removes those that only deleted runs had. */
@Injectable()
export class CollectRunWords {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly words: RunWordsStore,
  ) {}

  /** For a minute at most, and until `signal` is aborted; the next run continues. Returns of how many runs words were collected. */
  async run(signal?: AbortSignal): Promise<number> {
    const deadline = this.clock.now().getTime() + LONGEST_ROUND_MS;
    const mayContinue = (): boolean => signal?.aborted !== true && this.clock.now().getTime() < deadline;
    let collected = 0;
    for (let count = BATCH; count === BATCH && mayContinue();) {
      count = await this.inTransaction((tx) => this.words.collect(tx, BATCH));
      collected += count;
    }
    let checked = 0;
    for (let count = CHECK_BATCH; count === CHECK_BATCH && checked < MAX_CHECKED && mayContinue();) {
      count = await this.inTransaction((tx) => this.words.check(tx, CHECK_BATCH));
      checked += count;
    }
    return collected;
  }

  private inTransaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    return this.database.transaction(async (tx) => {
      // As for lists: these tables are never read whole, whatever the planner expects of the newest ids.
      // The planner expects millions of words of a batch, for which the executor would begin to compile.
      await tx.query(`SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`);
      return work(tx);
    });
  }
}
