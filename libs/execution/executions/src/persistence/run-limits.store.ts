import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { type Queryable, statement } from '#platform/persistence';
import type { RunLimits, Spent } from '../domain/run-limits.js';
import { HOSTED_POOL, type RunUsage } from '../domain/run.js';

/**
 * How long the agents of run `r` may work, in milliseconds; null: without end. `defaultMs`: SQL of the installation's limit for
 * hosted runs that name none, 0: none.
 */
export const maxRuntimeMs = (defaultMs: string): string =>
  `coalesce((r.config->>'max_runtime_minutes')::float8 * 60000, CASE WHEN r.pool = '${HOSTED_POOL}' THEN nullif(${defaultMs}::float8, 0) END)`;

/** Milliseconds that the agents of run `r` have worked, with its live execution `e`: without the time that questions waited. */
const WORKED_MS = `greatest(0, r.busy_ms + coalesce(extract(epoch FROM headrace.now() - e.busy_since) * 1000, 0)
  - coalesce((SELECT sum(extract(epoch FROM upper(waited.span) - lower(waited.span)) * 1000) FROM unnest((
      SELECT range_agg(tstzrange(a.requested_at, greatest(a.requested_at, coalesce(a.decided_at, headrace.now()))))
        FROM approvals a WHERE a.run_id = r.id)) AS waited (span)), 0))::float8`;

/** Sums up over turns; a figure that no turn has reported stays absent. */
const ADD_USAGE = statement('limits.add-usage')`UPDATE runs SET usage = coalesce(usage, '{}') || (
    SELECT coalesce(jsonb_object_agg(u.key, coalesce((usage->>u.key)::numeric, 0) + u.value::numeric), '{}') FROM jsonb_each_text($2::jsonb) u
  ) WHERE id = $1 RETURNING usage, config #>> '{harness,type}' AS harness, (config->>'max_cost_usd')::float8 AS max_cost_usd, (config->>'max_tokens')::float8 AS max_tokens`;

const SPENT = statement('limits.spent')`
  SELECT r.usage, ${WORKED_MS} AS worked_ms, ${maxRuntimeMs('$2')} / 60000 AS max_runtime_minutes,
    (r.config->>'max_cost_usd')::float8 AS max_cost_usd, (r.config->>'max_tokens')::float8 AS max_tokens
   FROM runs r LEFT JOIN executions e ON e.run_id = r.id AND e.ended_at IS NULL WHERE r.id = $1`;

const POSTPONE = statement('limits.postpone')`
  UPDATE executions SET ceiling_at = headrace.now() + $2 * interval '1 millisecond' WHERE id = $1 AND ended_at IS NULL`;

@Injectable()
export class RunLimitsStore {
  constructor(private readonly settings: Settings) {}

  /** Adds what a turn has used to what is known. Of the budget the working time is left out. */
  async addUsage(tx: Queryable, runId: string, usage: RunUsage) {
    const [row] = await tx.query<RunLimits & { usage: RunUsage | null; harness: string | null }>(ADD_USAGE, [
      runId,
      JSON.stringify(usage),
    ]);
    if (!row) return null;
    return { limits: row, spent: { workedMs: 0, usage: row.usage } satisfies Spent, harness: row.harness };
  }

  async budget(tx: Queryable, runId: string) {
    const [row] = await tx.query<RunLimits & { usage: RunUsage | null; worked_ms: number }>(SPENT, [
      runId,
      this.settings.defaultMaxRuntime,
    ]);
    return row ? { limits: row, spent: { workedMs: row.worked_ms, usage: row.usage } satisfies Spent } : null;
  }

  /** Some of the time was waiting: the execution is looked at again when so much more has passed. */
  async postpone(tx: Queryable, executionId: string, ms: number): Promise<void> {
    await tx.query(POSTPONE, [executionId, ms]);
  }
}
