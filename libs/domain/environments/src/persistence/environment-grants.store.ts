import { Injectable } from '@nestjs/common';
import { Database, type Queryable } from '#platform/persistence';
import type { Asker } from '../domain/environment-access.js';
import type { EnvironmentGrant, Grantee } from '../domain/environment-sharing.js';

interface Row {
  uid: string;
  environment_uid: string;
  user_uid: string | null;
  team_uid: string | null;
  creator_type: EnvironmentGrant['creator']['type'];
  creator_uid: string;
  created_at: Date;
}

const COLUMNS = 'uid, environment_uid, user_uid, team_uid, creator_type, creator_uid, created_at';

/** Grants of environments to people and teams. The row of the environment is locked during an insert. */
@Injectable()
export class EnvironmentGrantsStore {
  constructor(private readonly database: Database) {}

  /** Oldest first; there are few. */
  async list(environmentUid: string, queryable: Queryable = this.database): Promise<EnvironmentGrant[]> {
    const rows = await queryable.query<Row>(
      `SELECT ${COLUMNS} FROM headrace.environment_grants WHERE environment_uid = $1 ORDER BY created_at, uid`,
      [environmentUid],
    );
    return rows.map(toGrant);
  }

  async insert(
    tx: Queryable,
    { uid, environmentUid, grantee, creator }: Omit<EnvironmentGrant, 'createdAt'>,
  ): Promise<EnvironmentGrant> {
    const [row] = await tx.query<Row>(
      `INSERT INTO headrace.environment_grants (uid, environment_uid, ${columnOf(grantee)}, creator_type, creator_uid)
       VALUES ($1, $2, $3, $4, $5) RETURNING ${COLUMNS}`,
      [uid, environmentUid, grantee.uid, creator.type, creator.uid],
    );
    if (!row) throw new Error('INSERT … RETURNING gave no row');
    return toGrant(row);
  }

  async delete(environmentUid: string, uid: string): Promise<boolean> {
    const rows = await this.database.query(
      'DELETE FROM headrace.environment_grants WHERE environment_uid = $1 AND uid = $2 RETURNING 1',
      [environmentUid, uid],
    );
    return rows.length > 0;
  }

  /** If it is to this person, or to one of these teams. */
  async deleteOf({ userUid, teamUids }: Asker, environmentUid: string, uid: string): Promise<boolean> {
    const rows = await this.database.query(
      `DELETE FROM headrace.environment_grants
       WHERE environment_uid = $1 AND uid = $2 AND (user_uid = $3 OR team_uid = ANY($4::text[])) RETURNING 1`,
      [environmentUid, uid, userUid, teamUids],
    );
    return rows.length > 0;
  }
}

const columnOf = ({ type }: Grantee): string => (type === 'user' ? 'user_uid' : 'team_uid');

function toGrant(row: Row): EnvironmentGrant {
  return {
    uid: row.uid,
    environmentUid: row.environment_uid,
    grantee: row.user_uid !== null ? { type: 'user', uid: row.user_uid } : { type: 'team', uid: row.team_uid ?? '' },
    creator: { type: row.creator_type, uid: row.creator_uid },
    createdAt: row.created_at,
  };
}
