import { Injectable } from '@nestjs/common';
import { Database, GroupedStatement, type Statement } from '#platform/persistence';
import type { NewRun } from './new-run.js';
import { AT_CAPACITY, INSERT_RUNS, newRunsFrom, toNewRunJson } from './run-insert-sql.js';

/** Runs and their first events in one statement and one round trip. `$1`: a JSON array, one object a run. */
export const INSERT_RUNS_STATEMENT: Statement = {
  name: 'runs.create-group',
  text: `WITH t AS MATERIALIZED (SELECT headrace.now() AS at), n AS MATERIALIZED (SELECT * FROM ${newRunsFrom('$1')}), ${INSERT_RUNS}
SELECT ${AT_CAPACITY} FROM n ORDER BY ord`,
};

const LIMITS = { maxGroup: 64, maxInFlight: 2 };

/** Commits runs that are created at the same time together. */
@Injectable()
export class GroupedRunInserts {
  private readonly groups: GroupedStatement<NewRun, boolean>;

  constructor(database: Database) {
    this.groups = new GroupedStatement<NewRun, boolean>(async (runs) => {
      const rows = await database.query<{ at_capacity: boolean | null }>(INSERT_RUNS_STATEMENT, [
        JSON.stringify(runs.map((run, ord) => toNewRunJson(run, ord))),
      ]);
      return rows.map((row) => row.at_capacity ?? false);
    }, LIMITS);
  }

  /** Whether the run's owner or pool had no slot left when it was committed. */
  insert(run: NewRun): Promise<boolean> {
    return this.groups.execute(run);
  }
}
