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
 * Whether a team or person can have one more row of this table of schema `headrace`. Concurrent inserts for one owner wait until
 * the transaction ends, so that two of them cannot both be the last one that the limit permits.
 */
export async function isBelowOwnerLimit(
  tx: Queryable,
  table: string,
  { teamUid, userUid }: { readonly teamUid: string | null; readonly userUid: string | null },
  limit: number,
): Promise<boolean> {
  const owner = teamUid ?? userUid;
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`headrace.${table}/${owner}`]);
  // A separate statement: it must see what was committed while the statement before waited for the lock.
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM headrace.${table} WHERE ${teamUid === null ? 'owner_user_uid' : 'team_uid'} = $1`,
    [owner],
  );
  return (row?.count ?? 0) < limit;
}
