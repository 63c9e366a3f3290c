import { Injectable } from '@nestjs/common';
import { Database, type Queryable, sqlState, UNIQUE_VIOLATION, writtenRow } from '#platform/persistence';

export interface FactoryFields {
  readonly name: string;
  /** Empty: none. */
  readonly description: string;
  /** A short name that no other factory of the team has. */
  readonly alias: string | null;
}

/** What automations, webhooks and their definition files belong to. Owned by one team. */
export interface Factory extends FactoryFields {
  readonly uid: string;
  readonly teamUid: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface FactorySearch {
  readonly teamUids: readonly string[];
  /** Part of name, alias or description, in any case; null: all. */
  readonly text: string | null;
  readonly after: { readonly name: string; readonly uid: string } | null;
  readonly limit: number;
}

const COLUMNS =
  'uid, team_uid AS "teamUid", name, description, alias, created_at AS "createdAt", updated_at AS "updatedAt"';
const SELECT = `SELECT ${COLUMNS} FROM factories`;

@Injectable()
export class FactoriesStore {
  constructor(private readonly database: Database) {}

  async insert(uid: string, teamUid: string, { name, description, alias }: FactoryFields): Promise<Factory> {
    return writtenRow(
      await this.database.query<Factory>(
        `INSERT INTO factories (uid, team_uid, name, description, alias) VALUES ($1, $2, $3, $4, $5) RETURNING ${COLUMNS}`,
        [uid, teamUid, name, description, alias],
      ),
    );
  }

  async find(uid: string): Promise<Factory | null> {
    const [factory] = await this.database.query<Factory>(`${SELECT} WHERE uid = $1`, [uid]);
    return factory ?? null;
  }

  list(limit: number): Promise<Factory[]> {
    return this.database.query<Factory>(`${SELECT} ORDER BY created_at, uid LIMIT $1`, [limit]);
  }

  /** Nobody else changes it until the transaction ends. Inserts that refer to it do not wait. */
  async lock(tx: Queryable, uid: string): Promise<Factory | null> {
    const [factory] = await tx.query<Factory>(`${SELECT} WHERE uid = $1 FOR NO KEY UPDATE`, [uid]);
    return factory ?? null;
  }

  /** Nobody else changes it or refers to it until the transaction ends. For a transaction that has {@link lock}ed it. */
  async lockForDelete(tx: Queryable, uid: string): Promise<void> {
    await tx.query('SELECT 1 FROM factories WHERE uid = $1 FOR UPDATE', [uid]);
  }

  async delete(tx: Queryable, uid: string): Promise<void> {
    await tx.query('DELETE FROM factories WHERE uid = $1', [uid]);
  }

  async findByAlias(tx: Queryable, teamUid: string, alias: string): Promise<Factory | null> {
    const [factory] = await tx.query<Factory>(`${SELECT} WHERE team_uid = $1 AND alias = $2`, [teamUid, alias]);
    return factory ?? null;
  }

  async update(
    tx: Queryable,
    uid: string,
    { name, description, alias }: FactoryFields,
  ): Promise<'updated' | 'alias_taken'> {
    await tx.query('SAVEPOINT update_factory');
    try {
      await tx.query(
        `UPDATE factories SET name = $2, description = $3, alias = $4, updated_at = headrace.now() WHERE uid = $1`,
        [uid, name, description, alias],
      );
      await tx.query('RELEASE SAVEPOINT update_factory');
      return 'updated';
    } catch (error) {
      if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
      await tx.query('ROLLBACK TO SAVEPOINT update_factory');
      return 'alias_taken';
    }
  }

  /** By name, whatever its case. Texts are compared as they are: nothing in them is a wildcard. */
  search({ teamUids, text, after, limit }: FactorySearch): Promise<Factory[]> {
    return this.database.query<Factory>(
      `${SELECT}
       WHERE team_uid = ANY($1)
         AND ($2::text IS NULL OR strpos(lower(name), lower($2)) > 0 OR strpos(lower(alias), lower($2)) > 0
              OR strpos(lower(description), lower($2)) > 0)
         AND ($3::text IS NULL OR (lower(name), uid) > (lower($3), $4))
       ORDER BY lower(name), uid LIMIT $5`,
      [teamUids, text, after?.name ?? null, after?.uid ?? null, limit],
    );
  }
}
