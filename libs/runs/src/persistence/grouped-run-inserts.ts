import { Injectable } from '@nestjs/common';
import { Database, isDatabaseUnavailable, type Statement } from '#libs/persistence';
import type { NewRun } from './new-run.js';
import { AT_CAPACITY, INSERT_RUNS, newRunsFrom, toNewRunJson } from './run-insert-sql.js';

/** Runs and their first events in one statement and one round trip. `$1`: a JSON array, one object a run. */
const INSERT: Statement = {
  name: 'runs.create-group',
  text: `WITH t AS MATERIALIZED (SELECT headrace.now() AS at), n AS MATERIALIZED (SELECT * FROM ${newRunsFrom('$1')}), ${INSERT_RUNS}
SELECT ${AT_CAPACITY} FROM n ORDER BY ord`,
};

/** Rows of one statement, and statements under way at once: what comes meanwhile waits for the next one, and shares it. */
const MAX_GROUP = 64;
const MAX_IN_FLIGHT = 2;

interface Waiting {
  readonly run: NewRun;
  readonly resolve: (atCapacity: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Commits runs that are created at the same time together. Nobody waits for company: with nothing under way a run goes
 * alone and at once. Under load one statement, one commit and one round trip serve many requests.
 */
@Injectable()
export class GroupedRunInserts {
  private waiting: Waiting[] = [];
  private inFlight = 0;

  constructor(private readonly database: Database) {}

  /** Whether the run's owner or pool had no slot left when it was committed. */
  insert(run: NewRun): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ run, resolve, reject });
      this.send();
    });
  }

  private send(): void {
    while (this.inFlight < MAX_IN_FLIGHT && this.waiting.length > 0) {
      const group = this.waiting.slice(0, MAX_GROUP);
      this.waiting = this.waiting.slice(group.length);
      this.inFlight += 1;
      void this.commit(group).finally(() => {
        this.inFlight -= 1;
        this.send();
      });
    }
  }

  private async commit(group: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.write(group);
      group.forEach(({ resolve }, index) => resolve(results[index] ?? false));
    } catch (error) {
      // One row that the database refuses must not fail its neighbours; a database that is away fails them all.
      if (group.length === 1 || isDatabaseUnavailable(error)) group.forEach(({ reject }) => reject(error));
      else for (const one of group) await this.commit([one]);
    }
  }

  private async write(group: readonly Waiting[]): Promise<boolean[]> {
    const rows = await this.database.query<{ at_capacity: boolean | null }>(INSERT, [
      JSON.stringify(group.map(({ run }, ord) => toNewRunJson(run, ord))),
    ]);
    return rows.map((row) => row.at_capacity ?? false);
  }
}
