import { sqlState, UNIQUE_VIOLATION } from './database-error.js';
import type { Queryable } from './database.js';

/** The row of a statement with RETURNING that always writes one. */
export function writtenRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('A statement with RETURNING returned no row.');
  return row;
}

/** For writes whose only unique column, besides random UIDs, is the name in its team: rejects a name that is in use. */
export async function rejectTakenName<T>(write: () => Promise<T>): Promise<T | { readonly kind: 'name_taken' }> {
  try {
    return await write();
  } catch (error) {
    if (sqlState(error) === UNIQUE_VIOLATION) return { kind: 'name_taken' };
    throw error;
  }
}

/**
 * Whether the team can have one more row of this table of schema `headrace`. Concurrent inserts for one team wait until the
 * transaction ends, so that two of them cannot both be the last one that the limit permits.
 */
export async function isBelowTeamLimit(tx: Queryable, table: string, teamUid: string, limit: number): Promise<boolean> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`headrace.${table}/${teamUid}`]);
  // A separate statement: it must see what was committed while the statement before waited for the lock.
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM headrace.${table} WHERE team_uid = $1`,
    [teamUid],
  );
  return (row?.count ?? 0) < limit;
}
