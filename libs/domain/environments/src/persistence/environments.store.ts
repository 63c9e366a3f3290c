import { Injectable } from '@nestjs/common';
import { Database, type Queryable, type Statement } from '#platform/persistence';
import type { EnvironmentConfig, EnvironmentDetails } from '../domain/environment.js';
import type { Asker, Reach } from '../domain/environment-access.js';

type PrincipalType = 'user' | 'service_account';

interface Row {
  uid: string;
  team_uid: string | null;
  owner_user_uid: string | null;
  config: EnvironmentConfig;
  setup_failed: boolean;
  creator_type: PrincipalType;
  creator_uid: string;
  editor_type: PrincipalType;
  editor_uid: string;
  created_at: Date;
  updated_at: Date;
}

export type EnvironmentSort = 'name' | 'last_updated';

const COLUMNS =
  'uid, team_uid, owner_user_uid, config, setup_failed, creator_type, creator_uid, editor_type, editor_uid, created_at, updated_at';
const ORDER: Readonly<Record<EnvironmentSort, string>> = {
  name: `lower(config->>'name') ASC NULLS LAST, uid ASC`,
  last_updated: 'updated_at DESC, uid ASC',
};
/** No caller gets an unbounded list; nobody has this many environments. What others share does not displace one's own. */
const MAX_LISTED = 1000;

const FIND: Statement = {
  name: 'environments_find',
  text: `SELECT ${COLUMNS} FROM headrace.environments WHERE uid = $1`,
};
const FIND_SHARED: Statement = {
  name: 'environments_find_shared',
  text: `SELECT ${COLUMNS},
  EXISTS (SELECT FROM headrace.environment_grants g WHERE g.environment_uid = e.uid AND g.user_uid = $2)
    OR EXISTS (SELECT FROM headrace.environment_link_holders h WHERE h.environment_uid = e.uid AND h.user_uid = $2) AS is_guest,
  ARRAY(SELECT g.team_uid FROM headrace.environment_grants g WHERE g.environment_uid = e.uid AND g.team_uid = ANY($3::text[]))
    AS guest_team_uids
FROM headrace.environments e WHERE e.uid = $1`,
};

@Injectable()
export class EnvironmentsStore {
  constructor(private readonly database: Database) {}

  async find(uid: string, queryable: Queryable = this.database): Promise<EnvironmentDetails | null> {
    const [row] = await queryable.query<Row>(FIND, [uid]);
    return row ? toDetails(row) : null;
  }

  /** With what was shared with them. One round trip. */
  async findFor(
    uid: string,
    { userUid, teamUids }: Asker,
    queryable: Queryable = this.database,
  ): Promise<(EnvironmentDetails & Reach) | null> {
    const [row] = await queryable.query<Row & { is_guest: boolean; guest_team_uids: string[] }>(FIND_SHARED, [
      uid,
      userUid,
      teamUids,
    ]);
    return row ? { ...toDetails(row), isGuest: row.is_guest, guestTeamUids: row.guest_team_uids } : null;
  }

  /** Nobody can change it or its grants until the transaction ends; its links can still be redeemed. */
  async lock(tx: Queryable, uid: string): Promise<EnvironmentDetails | null> {
    const [row] = await tx.query<Row>(`SELECT ${COLUMNS} FROM headrace.environments WHERE uid = $1 FOR NO KEY UPDATE`, [
      uid,
    ]);
    return row ? toDetails(row) : null;
  }

  /** Those of the teams, the person's own, and what was shared with them. */
  async listFor({ teamUids, userUid }: Asker, sort: EnvironmentSort): Promise<EnvironmentDetails[]> {
    const rows = await this.database.query<Row>(
      `SELECT * FROM (
         (SELECT * FROM (
            SELECT ${COLUMNS} FROM headrace.environments WHERE team_uid = ANY($1::text[])
            UNION ALL
            SELECT ${COLUMNS} FROM headrace.environments WHERE owner_user_uid = $2
          ) own ORDER BY ${ORDER[sort]} LIMIT ${MAX_LISTED})
         UNION ALL
         (SELECT ${COLUMNS} FROM headrace.environments
           WHERE uid IN (
             SELECT environment_uid FROM headrace.environment_grants WHERE user_uid = $2
             UNION SELECT environment_uid FROM headrace.environment_grants WHERE team_uid = ANY($1::text[])
             UNION SELECT environment_uid FROM headrace.environment_link_holders WHERE user_uid = $2)
             AND NOT coalesce(team_uid = ANY($1::text[]), owner_user_uid = $2, false)
           ORDER BY ${ORDER[sort]} LIMIT ${MAX_LISTED})
       ) visible ORDER BY ${ORDER[sort]}`,
      [teamUids, userUid],
    );
    return rows.map(toDetails);
  }

  async insert(
    environment: Pick<EnvironmentDetails, 'uid' | 'teamUid' | 'ownerUserUid' | 'config' | 'creator'>,
  ): Promise<EnvironmentDetails> {
    const { uid, teamUid, ownerUserUid, config, creator } = environment;
    const [row] = await this.database.query<Row>(
      `INSERT INTO headrace.environments (uid, team_uid, owner_user_uid, config, creator_type, creator_uid, editor_type, editor_uid)
       VALUES ($1, $2, $3, $4, $5, $6, $5, $6) RETURNING ${COLUMNS}`,
      [uid, teamUid, ownerUserUid, JSON.stringify(config), creator.type, creator.uid],
    );
    if (!row) throw new Error('INSERT … RETURNING gave no row');
    return toDetails(row);
  }

  async update(
    tx: Queryable,
    uid: string,
    { config, editor }: Pick<EnvironmentDetails, 'config'> & { readonly editor: EnvironmentDetails['lastEditor'] },
  ): Promise<EnvironmentDetails> {
    const [row] = await tx.query<Row>(
      `UPDATE headrace.environments SET config = $2, editor_type = $3, editor_uid = $4, updated_at = headrace.now()
       WHERE uid = $1 RETURNING ${COLUMNS}`,
      [uid, JSON.stringify(config), editor.type, editor.uid],
    );
    if (!row) throw new Error('UPDATE … RETURNING gave no row');
    return toDetails(row);
  }

  async delete(uid: string): Promise<boolean> {
    const rows = await this.database.query('DELETE FROM headrace.environments WHERE uid = $1 RETURNING 1', [uid]);
    return rows.length > 0;
  }

  /** Writes only a change, so that a thousand good set-ups of one environment cost nothing. */
  async setSetupFailed(uid: string, failed: boolean): Promise<void> {
    await this.database.query(
      'UPDATE headrace.environments SET setup_failed = $2 WHERE uid = $1 AND setup_failed <> $2',
      [uid, failed],
    );
  }
}

function toDetails(row: Row): EnvironmentDetails {
  return {
    uid: row.uid,
    teamUid: row.team_uid,
    ownerUserUid: row.owner_user_uid,
    config: row.config,
    setupFailed: row.setup_failed,
    creator: { type: row.creator_type, uid: row.creator_uid },
    lastEditor: { type: row.editor_type, uid: row.editor_uid },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
