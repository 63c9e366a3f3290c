import { Injectable } from '@nestjs/common';
import { Database, type Queryable, type Statement } from '#libs/persistence';
import type { EnvironmentConfig, EnvironmentDetails } from '../domain/environment.js';

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
/** No caller gets an unbounded list; nobody has this many environments. */
const MAX_LISTED = 1000;

const FIND: Statement = {
  name: 'environments_find',
  text: `SELECT ${COLUMNS} FROM headrace.environments WHERE uid = $1`,
};

@Injectable()
export class EnvironmentsStore {
  constructor(private readonly database: Database) {}

  async find(uid: string, queryable: Queryable = this.database): Promise<EnvironmentDetails | null> {
    const [row] = await queryable.query<Row>(FIND, [uid]);
    return row ? toDetails(row) : null;
  }

  /** Those of the teams and the person's own. */
  async listFor(
    scope: { readonly teamUids: readonly string[]; readonly userUid: string | null },
    sort: EnvironmentSort,
  ): Promise<EnvironmentDetails[]> {
    const rows = await this.database.query<Row>(
      `SELECT * FROM (
         SELECT ${COLUMNS} FROM headrace.environments WHERE team_uid = ANY($1::text[])
         UNION ALL
         SELECT ${COLUMNS} FROM headrace.environments WHERE owner_user_uid = $2
       ) visible ORDER BY ${ORDER[sort]} LIMIT ${MAX_LISTED}`,
      [scope.teamUids, scope.userUid],
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
