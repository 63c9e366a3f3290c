import { Injectable } from '@nestjs/common';
import type { Owner, PrincipalRef } from '#platform/auth';
import { newUid } from '#platform/kernel';
import { Database, listedUids, type Queryable, statement } from '#platform/persistence';
import { type EnvironmentConfig, type EnvironmentDetails, MAX_CONFIG_BYTES } from '../domain/environment.js';
import type { Asker, Reach } from '../domain/environment-access.js';

export type EnvironmentSort = 'name' | 'last_updated';

const COLUMNS = `e.uid, e.team_uid AS "teamUid", e.owner_user_uid AS "userUid", e.config, e.setup_failed AS "setupFailed",
  json_build_object('type', e.creator_type, 'uid', e.creator_uid) AS creator,
  json_build_object('type', e.editor_type, 'uid', e.editor_uid) AS "lastEditor",
  e.created_at AS "createdAt", e.updated_at AS "updatedAt"`;
const ORDER: Readonly<Record<EnvironmentSort, string>> = {
  name: 'name_key ASC NULLS LAST, uid ASC',
  last_updated: 'updated_at DESC, uid ASC',
};
/** No caller gets an unbounded list; nobody has this many environments. What others share does not displace one's own. */
const LISTED = listedUids({
  rows: `SELECT uid, coalesce(team_uid, owner_user_uid) AS owner, config_bytes AS bytes, false AS is_shared
      FROM headrace.environments WHERE team_uid = ANY($1::text[])
    UNION ALL SELECT uid, owner_user_uid, config_bytes, false FROM headrace.environments WHERE owner_user_uid = $2
    UNION ALL SELECT uid, coalesce(team_uid, owner_user_uid), config_bytes, true FROM headrace.environments
       WHERE uid IN (
          SELECT environment_uid FROM headrace.environment_grants WHERE user_uid = $2
          UNION SELECT environment_uid FROM headrace.environment_grants WHERE team_uid = ANY($1::text[])
          UNION SELECT environment_uid FROM headrace.environment_link_holders WHERE user_uid = $2)
         AND NOT coalesce(team_uid = ANY($1::text[]), owner_user_uid = $2, false)`,
  max: 1000,
  listBy: 'is_shared',
});

const FIND = statement('environments_find')`
  SELECT ${COLUMNS} FROM headrace.environments e WHERE uid = $1`;
const FIND_SHARED = statement('environments_find_shared')`
  SELECT ${COLUMNS},
  EXISTS (SELECT FROM headrace.environment_grants g WHERE g.environment_uid = e.uid AND g.user_uid = $2)
    OR EXISTS (SELECT FROM headrace.environment_link_holders h WHERE h.environment_uid = e.uid AND h.user_uid = $2) AS "isGuest",
  ARRAY(SELECT g.team_uid FROM headrace.environment_grants g WHERE g.environment_uid = e.uid AND g.team_uid = ANY($3::text[]))
    AS "guestTeamUids"
FROM headrace.environments e WHERE e.uid = $1`;

@Injectable()
export class EnvironmentsStore {
  constructor(private readonly database: Database) {}

  async find(uid: string, queryable: Queryable = this.database): Promise<EnvironmentDetails | undefined> {
    const [environment] = await queryable.query<EnvironmentDetails>(FIND, [uid]);
    return environment;
  }

  /** With what was shared with them. One round trip. */
  async findFor(
    uid: string,
    { userUid, teamUids }: Asker,
    queryable: Queryable = this.database,
  ): Promise<(EnvironmentDetails & Reach) | undefined> {
    const [environment] = await queryable.query<EnvironmentDetails & Reach>(FIND_SHARED, [uid, userUid, teamUids]);
    return environment;
  }

  /** Nobody can change it or its grants until the transaction ends; its links can still be redeemed. */
  async lock(tx: Queryable, uid: string): Promise<EnvironmentDetails | undefined> {
    const [environment] = await tx.query<EnvironmentDetails>(`${FIND.text} FOR NO KEY UPDATE`, [uid]);
    return environment;
  }

  listFor({ teamUids, userUid }: Asker, sort: EnvironmentSort): Promise<EnvironmentDetails[]> {
    return this.database.query<EnvironmentDetails>(
      `SELECT ${COLUMNS} FROM (${LISTED}) listed JOIN headrace.environments e USING (uid) ORDER BY ${ORDER[sort]}`,
      [teamUids, userUid],
    );
  }

  /** Undefined: the configuration is larger than MAX_CONFIG_BYTES as it is stored. */
  async insert(
    tx: Queryable,
    uid: string,
    { teamUid, userUid }: Owner,
    config: EnvironmentConfig,
    { type, uid: creatorUid }: PrincipalRef,
  ): Promise<EnvironmentDetails | undefined> {
    const [environment] = await tx.query<EnvironmentDetails>(
      `INSERT INTO headrace.environments AS e
         (uid, team_uid, owner_user_uid, config, creator_type, creator_uid, editor_type, editor_uid)
       SELECT $1, $2, $3, $4::jsonb, $5, $6, $5, $6 WHERE octet_length($4::jsonb::text) <= $7 RETURNING ${COLUMNS}`,
      [uid, teamUid, userUid, JSON.stringify(config), type, creatorUid, MAX_CONFIG_BYTES],
    );
    return environment;
  }

  /** Undefined: the configuration is larger than MAX_CONFIG_BYTES as it is stored, and than the one of an earlier version. */
  async update(
    tx: Queryable,
    uid: string,
    config: EnvironmentConfig,
    editor: PrincipalRef,
  ): Promise<EnvironmentDetails | undefined> {
    const [environment] = await tx.query<EnvironmentDetails>(
      `UPDATE headrace.environments e SET config = $2::jsonb, editor_type = $3, editor_uid = $4, updated_at = headrace.now()
       WHERE uid = $1 AND octet_length($2::jsonb::text) <= greatest($5, config_bytes) RETURNING ${COLUMNS}`,
      [uid, JSON.stringify(config), editor.type, editor.uid, MAX_CONFIG_BYTES],
    );
    return environment;
  }

  /** Ends all uses of the environments of a person: grants and links are deleted, and each environment gets a new UID. */
  async endUsesOfOwner(tx: Queryable, userUid: string): Promise<void> {
    // No grant or link is created any more until the transaction ends.
    const owned = await tx.query<{ uid: string }>(
      'SELECT uid FROM headrace.environments WHERE owner_user_uid = $1 ORDER BY uid FOR UPDATE',
      [userUid],
    );
    const uids = owned.map(({ uid }) => uid);
    for (const table of ['environment_grants', 'environment_links'])
      await tx.query(`DELETE FROM headrace.${table} WHERE environment_uid = ANY ($1::text[])`, [uids]);
    await tx.query(
      `UPDATE headrace.environments e SET uid = n.new_uid FROM unnest($1::text[], $2::text[]) AS n (uid, new_uid) WHERE e.uid = n.uid`,
      [uids, uids.map(() => newUid())],
    );
  }

  async delete(uid: string): Promise<boolean> {
    const rows = await this.database.query('DELETE FROM headrace.environments WHERE uid = $1 RETURNING 1', [uid]);
    return rows.length > 0;
  }

  /** Writes only a change, so that a thousand successful set-ups of one environment cost nothing. */
  async setSetupFailed(uid: string, failed: boolean): Promise<void> {
    await this.database.query(
      'UPDATE headrace.environments SET setup_failed = $2 WHERE uid = $1 AND setup_failed <> $2',
      [uid, failed],
    );
  }
}
