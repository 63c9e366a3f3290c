import { type Queryable, sqlState, UNIQUE_VIOLATION } from '#platform/persistence';

export type NameTaken = { readonly kind: 'name_taken' };

/** For writes whose only unique column, besides random uids, is the name in its team: reports a name that is in use. */
export async function rejectTakenName<T>(write: () => Promise<T>): Promise<T | NameTaken> {
  try {
    return await write();
  } catch (error) {
    if (sqlState(error) === UNIQUE_VIOLATION) return { kind: 'name_taken' };
    throw error;
  }
}

/**
 * Whether the team can have one more row of this table. Concurrent inserts for one team wait until the transaction ends, so
 * that two of them cannot both be the last one that the limit permits.
 */
export async function isBelowLimit(
  tx: Queryable,
  table: 'agent_identities' | 'mcp_servers',
  teamUid: string,
  limit: number,
): Promise<boolean> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`headrace.${table}/${teamUid}`]);
  // A separate statement: it must see what was committed while the statement before waited for the lock.
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM headrace.${table} WHERE team_uid = $1`,
    [teamUid],
  );
  return (row?.count ?? 0) < limit;
}
