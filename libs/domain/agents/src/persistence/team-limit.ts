import type { Queryable } from '#platform/persistence';

type CountedTable = 'agent_identities' | 'mcp_servers';

/**
 * Whether the team may have one more row of this table. Those who insert for one team wait in line until the
 * transaction ends, so that two of them do not both take the last place.
 */
export async function hasRoom(tx: Queryable, table: CountedTable, teamUid: string, limit: number): Promise<boolean> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`headrace.${table}/${teamUid}`]);
  // A statement of its own: it has to see what was committed while this one waited.
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM headrace.${table} WHERE team_uid = $1`,
    [teamUid],
  );
  return (row?.count ?? 0) < limit;
}
