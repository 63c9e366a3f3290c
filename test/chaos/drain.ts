import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { isDatabaseUnavailable } from '#platform/persistence';

export type Query = <Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<Row[]>;

const POLL_MS = 500;
/** A server that was killed a moment ago recovers within seconds. */
const RECOVERY_TIMEOUT_MS = 30_000;

/**
 * Queries the database of an installation, each query over a new connection, because the server may have been killed since
 * the last one. While the server recovers, the query is repeated.
 */
export function queryAt(databaseUrl: () => string): Query {
  const query = queryOnce(databaseUrl);
  return async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
    const deadline = performance.now() + RECOVERY_TIMEOUT_MS;
    for (;;) {
      try {
        return await query<Row>(text, values);
      } catch (error) {
        if (!isDatabaseUnavailable(error) || performance.now() > deadline) throw error;
        await delay(POLL_MS);
      }
    }
  };
}

function queryOnce(databaseUrl: () => string): Query {
  return async (text, values = []) => {
    const client = new pg.Client({ connectionString: databaseUrl(), options: '-c search_path=headrace' });
    // A connection that is killed while it is idle.
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text, [...values])).rows;
    } finally {
      await client.end();
    }
  };
}

/** Everything that is still to be done, and what has been done so far. */
const PROGRESS = `SELECT
  (SELECT count(*)::int FROM runs WHERE state NOT IN ('SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED')) AS open_runs,
  (SELECT count(*)::int FROM executions WHERE ended_at IS NULL AND phase <> 'idle') AS executions,
  (SELECT count(*)::int FROM webhook_deliveries WHERE outcome = 'A' AND evaluated_at IS NULL) AS unevaluated_deliveries,
  (SELECT coalesce(sum(used), 0)::int FROM slot_pools) AS slots_held,
  (SELECT count(*)::int FROM timers WHERE fire_at <= headrace.now()) AS due_timers,
  (SELECT count(*)::int FROM run_events) AS events,
  (SELECT count(*)::int FROM executions) AS all_executions`;

export interface Remaining {
  readonly open_runs: number;
  readonly executions: number;
  readonly unevaluated_deliveries: number;
  readonly slots_held: number;
  readonly due_timers: number;
}

interface Progress extends Remaining {
  readonly events: number;
  readonly all_executions: number;
}

/** Waits until nothing is left to be done, or nothing has moved for `stallTimeoutMs`. Returns what is left. */
export async function drain(query: Query, stallTimeoutMs: number): Promise<Remaining> {
  let last: Progress | null = null;
  return poll(stallTimeoutMs, async () => {
    const [progress] = await query<Progress & pg.QueryResultRow>(PROGRESS);
    if (progress === undefined) throw new Error('PostgreSQL returned no row.');
    const moved = JSON.stringify(progress) !== JSON.stringify(last);
    last = progress;
    const { events: _events, all_executions: _executions, ...remaining } = progress;
    return { value: remaining, done: Object.values(remaining).every((count) => count === 0), moved };
  });
}

/** Looks until it is done or has not moved for so long; the last value either way. */
export async function poll<T>(
  stallTimeoutMs: number,
  look: () => Promise<{ readonly value: T; readonly done: boolean; readonly moved: boolean }>,
): Promise<T> {
  let movedAt = performance.now();
  for (;;) {
    const { value, done, moved } = await look();
    if (moved) movedAt = performance.now();
    if (done || performance.now() - movedAt > stallTimeoutMs) return value;
    await delay(POLL_MS);
  }
}
