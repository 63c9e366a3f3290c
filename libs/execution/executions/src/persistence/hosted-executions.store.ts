import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Database, type Statement, statement } from '#platform/persistence';

const OVER = statement('hosted-executions.over')`
  SELECT asked.id::text FROM unnest($1::bigint[]) AS asked(id) LEFT JOIN executions e ON e.id = asked.id
   WHERE e.id IS NULL OR e.end_reason IN ('lease_expired', 'fenced', 'claim_expired')
     OR e.ended_at < headrace.now() - $2 * interval '1 second'`;
const RUN_OF = statement('hosted-executions.run-of')`SELECT run_id FROM executions WHERE id = $1`;
const WORKING = statement('hosted-executions.working')`
  SELECT id FROM executions WHERE id = ANY($1) AND (phase = 'started' OR (phase = 'debug' AND busy_since IS NOT NULL))`;
const KEEP_OFFERS = statement('hosted-executions.keep-offers')`
  UPDATE executions SET lease_expires_at = greatest(lease_expires_at, headrace.now() + $2 * interval '1 millisecond')
   WHERE id = ANY($1) AND phase = 'offered' AND ended_at IS NULL RETURNING id`;

/** How long a runner may take to leave after its execution has ended. */
const LEAVE_SECONDS = 10;

/** What the processor asks about the executions that it runs. */
@Injectable()
export class HostedExecutionsStore {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  /** Those that were given up, that ended long enough ago for their runner to have left, or that are not known at all. */
  over(ids: readonly string[]): Promise<Set<string>> {
    return this.select(OVER, [ids, LEAVE_SECONDS]);
  }

  async runOf(executionId: string): Promise<string | null> {
    const [row] = await this.database.query<{ run_id: string }>(RUN_OF, [executionId]);
    return row?.run_id ?? null;
  }

  working(ids: readonly string[]): Promise<Set<string>> {
    return this.select(WORKING, [ids]);
  }

  /** Gives the runners of offered executions another CLAIM_DEADLINE to claim them. Returns those that are still offered. */
  keepOffers(ids: readonly string[]): Promise<Set<string>> {
    return this.select(KEEP_OFFERS, [ids, this.settings.claimDeadline]);
  }

  private async select(statement: Statement, values: unknown[]): Promise<Set<string>> {
    const rows = await this.database.query<{ id: string }>(statement, values);
    return new Set(rows.map(({ id }) => id));
  }
}
