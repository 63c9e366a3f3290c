import { Injectable } from '@nestjs/common';
import { Database, type Queryable, sqlState, UNIQUE_VIOLATION } from '#platform/persistence';
import type { Factory, FactoryFields } from '../application/factory.js';

interface Row {
  uid: string;
  team_uid: string;
  name: string;
  description: string;
  alias: string | null;
  created_at: Date;
  updated_at: Date;
}

export interface FactorySearch {
  readonly teamUids: readonly string[];
  /** Part of name, alias or description, in any case; null: all. */
  readonly text: string | null;
  /** The last one of the page before. */
  readonly after: { readonly name: string; readonly uid: string } | null;
  readonly limit: number;
}

const COLUMNS = 'uid, team_uid, name, description, alias, created_at, updated_at';

/** Factories in separate statements: in the transaction of a caller, and searched. */
@Injectable()
export class FactoriesStore {
  constructor(private readonly database: Database) {}

  /** Nobody else changes it until the transaction ends. Inserts that refer to it do not wait. */
  async lock(tx: Queryable, uid: string): Promise<Factory | null> {
    const [row] = await tx.query<Row>(`SELECT ${COLUMNS} FROM factories WHERE uid = $1 FOR NO KEY UPDATE`, [uid]);
    return row ? toFactory(row) : null;
  }

  /** The factory of the team that has this alias. */
  async findByAlias(tx: Queryable, teamUid: string, alias: string): Promise<Factory | null> {
    const [row] = await tx.query<Row>(`SELECT ${COLUMNS} FROM factories WHERE team_uid = $1 AND alias = $2`, [
      teamUid,
      alias,
    ]);
    return row ? toFactory(row) : null;
  }

  /** The transaction continues when the alias is taken. */
  async update(
    tx: Queryable,
    uid: string,
    { name, description, alias }: FactoryFields,
  ): Promise<Factory | 'alias_taken'> {
    await tx.query('SAVEPOINT update_factory');
    try {
      const [row] = await tx.query<Row>(
        `UPDATE factories SET name = $2, description = $3, alias = $4, updated_at = headrace.now()
         WHERE uid = $1 RETURNING ${COLUMNS}`,
        [uid, name, description, alias],
      );
      if (!row) throw new Error(`There is no factory ${uid}.`);
      await tx.query('RELEASE SAVEPOINT update_factory');
      return toFactory(row);
    } catch (error) {
      if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
      await tx.query('ROLLBACK TO SAVEPOINT update_factory');
      return 'alias_taken';
    }
  }

  /** By name, whatever its case. Texts are compared as they are: nothing in them is a wildcard. */
  async search({ teamUids, text, after, limit }: FactorySearch): Promise<Factory[]> {
    const rows = await this.database.query<Row>(
      `SELECT ${COLUMNS} FROM factories
       WHERE team_uid = ANY($1)
         AND ($2::text IS NULL OR strpos(lower(name), lower($2)) > 0 OR strpos(lower(alias), lower($2)) > 0
              OR strpos(lower(description), lower($2)) > 0)
         AND ($3::text IS NULL OR (lower(name), uid) > (lower($3), $4))
       ORDER BY lower(name), uid LIMIT $5`,
      [teamUids, text, after?.name ?? null, after?.uid ?? null, limit],
    );
    return rows.map(toFactory);
  }
}

const toFactory = (row: Row): Factory => ({
  uid: row.uid,
  teamUid: row.team_uid,
  name: row.name,
  description: row.description,
  alias: row.alias,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
