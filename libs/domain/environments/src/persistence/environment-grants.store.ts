import { Injectable } from '@nestjs/common';
import { Database, type Queryable, writtenRow } from '#platform/persistence';
import type { Asker } from '../domain/environment-access.js';
import type { EnvironmentGrant } from '../domain/environment-sharing.js';

const COLUMNS = `uid, environment_uid AS "environmentUid", created_at AS "createdAt",
  json_build_object('type', creator_type, 'uid', creator_uid) AS creator,
  json_build_object('type', CASE WHEN user_uid IS NULL THEN 'team' ELSE 'user' END, 'uid', coalesce(user_uid, team_uid)) AS grantee`;

/** Grants of environments to people and teams. The row of the environment is locked during an insert. */
@Injectable()
export class EnvironmentGrantsStore {
  constructor(private readonly database: Database) {}

  /** Oldest first; there are few. */
  list(environmentUid: string, queryable: Queryable = this.database): Promise<EnvironmentGrant[]> {
    return queryable.query<EnvironmentGrant>(
      `SELECT ${COLUMNS} FROM headrace.environment_grants g WHERE environment_uid = $1 ORDER BY g.created_at, uid`,
      [environmentUid],
    );
  }

  async insert(
    tx: Queryable,
    { uid, environmentUid, grantee, creator }: Omit<EnvironmentGrant, 'createdAt'>,
  ): Promise<EnvironmentGrant> {
    const rows = await tx.query<EnvironmentGrant>(
      `INSERT INTO headrace.environment_grants (uid, environment_uid, ${grantee.type}_uid, creator_type, creator_uid)
       VALUES ($1, $2, $3, $4, $5) RETURNING ${COLUMNS}`,
      [uid, environmentUid, grantee.uid, creator.type, creator.uid],
    );
    return writtenRow(rows);
  }

  /** With `grantee`: only if it is to this person, or to one of these teams. */
  async delete(environmentUid: string, uid: string, grantee?: Asker): Promise<boolean> {
    const rows = await this.database.query(
      `DELETE FROM headrace.environment_grants
       WHERE environment_uid = $1 AND uid = $2 AND ($3 OR user_uid = $4 OR team_uid = ANY($5::text[])) RETURNING 1`,
      [environmentUid, uid, grantee === undefined, grantee?.userUid, grantee?.teamUids],
    );
    return rows.length > 0;
  }
}
