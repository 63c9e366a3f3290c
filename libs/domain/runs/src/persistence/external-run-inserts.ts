import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Database, type Queryable, type Statement } from '#platform/persistence';
import { EXTERNAL_POOL, RunTransitions } from '#execution/executions';
import { INSERT_ONCE, insertOnceValues, type RunClaim } from './grouped-claimed-inserts.js';
import { INSERT_RUNS_STATEMENT } from './grouped-run-inserts.js';
import type { NewRun } from './new-run.js';
import { toNewRunJson } from './run-insert-sql.js';

const OFFER: Statement = {
  name: 'executions.offer-external',
  text: `INSERT INTO executions (run_id, slot_key, pool, phase, placed_by, slot_held, idle_timeout_ms, offered_at, lease_expires_at)
  SELECT id, slot_key, pool, 'offered', '${EXTERNAL_POOL}', false,
    (coalesce((config->>'idle_timeout_minutes')::numeric, 10) * 60000)::int, headrace.now(), headrace.now() + $2 * interval '1 millisecond'
  FROM runs WHERE id = $1`,
};

const FIRST_EXECUTION: Statement = {
  name: 'executions.first-of-run',
  text: `SELECT id FROM executions WHERE run_id = $1 ORDER BY id LIMIT 1`,
};

/** Runs that whoever registers them executes: run and execution in one transaction, offered to nobody else. */
@Injectable()
export class ExternalRunInserts {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly transitions: RunTransitions,
  ) {}

  /** Null: the key is taken already, and nothing was written. */
  async insert(run: NewRun, claim: RunClaim | null): Promise<{ readonly atCapacity: false } | null> {
    return this.database.transaction(async (tx) => {
      if (!(await this.insertRun(tx, run, claim))) return null;
      await this.transitions.apply(tx, run.id, 'offer');
      await tx.query(OFFER, [run.id, this.settings.claimDeadline]);
      return { atCapacity: false };
    });
  }

  /** The execution that the run was created with. One round trip. */
  async executionOf(runId: string): Promise<string> {
    const [row] = await this.database.query<{ id: string }>(FIRST_EXECUTION, [runId]);
    if (!row) throw new Error(`The external run ${runId} has no execution.`);
    return row.id;
  }

  private async insertRun(tx: Queryable, run: NewRun, claim: RunClaim | null): Promise<boolean> {
    if (claim) return (await tx.query(INSERT_ONCE, insertOnceValues([{ run, claim }]))).length > 0;
    await tx.query(INSERT_RUNS_STATEMENT, [JSON.stringify([toNewRunJson(run, 0)])]);
    return true;
  }
}
