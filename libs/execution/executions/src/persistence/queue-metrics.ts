import { Injectable } from '@nestjs/common';
import { Metrics, type Sample } from '#platform/observability';
import { Database, statement } from '#platform/persistence';
import { EXTERNAL_POOL, HOSTED_POOL } from '../domain/run.js';

/** A larger number is not needed in a metric, and would cost more to count. */
const MAX_COUNTED = 100_000;

const GAUGES = {
  headrace_runs_queued: {
    help: `Queued runs that wait for a slot or a worker, by kind of worker and of owner; at most ${MAX_COUNTED} are counted.`,
    labelNames: ['executor', 'owner'],
  },
  headrace_run_queue_oldest_seconds: {
    help: 'Time that the oldest queued run has waited; 0 without one.',
    labelNames: ['executor', 'owner'],
  },
  headrace_executions: { help: 'Executions that have not ended, by phase.', labelNames: ['executor', 'phase'] },
  headrace_slots: {
    help: 'Slots for runs: MAX_CONCURRENT_RUNS, and those that connected self-hosted workers report.',
    labelNames: ['executor'],
  },
  headrace_slots_used: { help: 'Slots in use.', labelNames: ['executor'] },
  headrace_installation_held: { help: '1 after a restore until the installation is released, otherwise 0.' },
  headrace_approvals_pending: { help: 'Permission requests and questions of agents that wait for an answer.' },
} as const;
type GaugeName = keyof typeof GAUGES;

const EXECUTOR = `CASE pool WHEN '${HOSTED_POOL}' THEN 'hosted' WHEN '${EXTERNAL_POOL}' THEN 'external' ELSE 'self_hosted' END`;

const READ = statement('queue-metrics.read')`
  WITH queued AS MATERIALIZED (
    SELECT ${EXECUTOR} AS executor, split_part(slot_key, ':', 1) AS owner, count(*) AS runs, min(queued_at) AS since
      FROM (SELECT pool, slot_key, queued_at FROM runs WHERE state = 'QUEUED' AND NOT is_held LIMIT ${MAX_COUNTED}) q
     GROUP BY 1, 2
  ), line AS (
    SELECT json_build_object('executor', k.executor, 'owner', o.owner) AS labels, q.runs, q.since
      FROM unnest(ARRAY['hosted', 'self_hosted']) AS k (executor) CROSS JOIN unnest(ARRAY['team', 'user']) AS o (owner)
        LEFT JOIN queued q USING (executor, owner)
  ), live AS MATERIALIZED (
    SELECT ${EXECUTOR} AS executor, phase, count(*) AS executions FROM executions WHERE ended_at IS NULL GROUP BY 1, 2
  )
  SELECT 'headrace_runs_queued' AS gauge, labels, coalesce(runs, 0)::float8 AS value FROM line
  UNION ALL SELECT 'headrace_run_queue_oldest_seconds', labels, coalesce(greatest(0, extract(epoch FROM headrace.now() - since)), 0)::float8 FROM line
  UNION ALL SELECT 'headrace_executions', json_build_object('executor', executor, 'phase', phase), executions::float8 FROM live
  UNION ALL SELECT 'headrace_slots', json_build_object('executor', 'hosted'), capacity::float8 FROM slot_pools WHERE key = 'pool:${HOSTED_POOL}'
  UNION ALL SELECT 'headrace_slots_used', json_build_object('executor', 'hosted'), used::float8 FROM slot_pools WHERE key = 'pool:${HOSTED_POOL}'
  UNION ALL SELECT 'headrace_slots', json_build_object('executor', 'self_hosted'), coalesce(sum(slots), 0)::float8
    FROM worker_connections WHERE alive_until > headrace.now() AND NOT draining
  UNION ALL SELECT 'headrace_slots_used', json_build_object('executor', 'self_hosted'), coalesce(sum(executions), 0)::float8
    FROM live WHERE executor = 'self_hosted'
  UNION ALL SELECT 'headrace_installation_held', '{}'::json, count(*)::float8 FROM installation_hold
  UNION ALL SELECT 'headrace_approvals_pending', '{}'::json, count(*)::float8
    FROM (SELECT FROM approvals WHERE state = 'pending' LIMIT ${MAX_COUNTED}) pending`;

/** Values of the whole installation, so every processor reports the same ones. One statement for all of them. */
@Injectable()
export class QueueMetrics {
  constructor(metrics: Metrics, database: Database) {
    metrics.observedTogether<GaugeName>(GAUGES, () => database.query<Sample<GaugeName>>(READ));
  }
}
