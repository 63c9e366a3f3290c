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
    const collected = await this.inBatches(BATCH, mayContinue, (tx) => this.words.collect(tx, BATCH));
    const mayCheck = (checked: number): boolean => checked < MAX_CHECKED && mayContinue();
    await this.inBatches(CHECK_BATCH, mayCheck, (tx) => this.words.check(tx, CHECK_BATCH));
    return collected;
  }

  /** Until a batch is not full. `work` returns the size of its batch, and `mayContinue` gets their sum. Returns the sum. */
  private async inBatches(
    size: number,
    mayContinue: (sum: number) => boolean,
    work: (tx: Queryable) => Promise<number>,
  ): Promise<number> {
    let sum = 0;
    for (let count = size; count === size && mayContinue(sum);) {
      count = await this.inTransaction(work);
      sum += count;
    }
    return sum;
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
