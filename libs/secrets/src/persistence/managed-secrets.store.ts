import { Injectable } from '@nestjs/common';
import { Database, type Queryable } from '#libs/persistence';
import type { SecretRecord } from '../domain/managed-secret.js';

interface Row {
  name: string;
  version: number;
  created_at: Date;
  updated_at: Date;
}

const COLUMNS = 'name, version, created_at, updated_at';
/** No caller gets an unbounded list; those that the service makes for webhooks come on top of a team's limit. */
const MAX_LISTED = 10_000;

@Injectable()
export class ManagedSecretsStore {
  constructor(private readonly database: Database) {}

  /** By name, whoever uses them. */
  async list(teamUid: string): Promise<SecretRecord[]> {
    const rows = await this.database.query<Row>(
      `SELECT ${COLUMNS} FROM managed_secrets WHERE team_uid = $1 ORDER BY lower(name), name LIMIT ${MAX_LISTED}`,
      [teamUid],
    );
    return rows.map(toRecord);
  }

  /** Makes it, as version 1, or gives it the next version. Its row is locked from then on. */
  async put(tx: Queryable, teamUid: string, name: string, sealed: string): Promise<SecretRecord> {
    const [row] = await tx.query<Row>(
      `INSERT INTO managed_secrets AS s (team_uid, name, sealed) VALUES ($1, $2, $3)
       ON CONFLICT (team_uid, name) DO UPDATE
         SET sealed = excluded.sealed, version = s.version + 1, updated_at = headrace.now()
       RETURNING ${COLUMNS}`,
      [teamUid, name, sealed],
    );
    if (!row) throw new Error('A statement with RETURNING gave no row.');
    return toRecord(row);
  }

  /** Nobody changes or deletes it until the transaction ends. */
  async share(tx: Queryable, teamUid: string, name: string): Promise<{ version: number; sealed: string } | null> {
    const [row] = await tx.query<{ version: number; sealed: string }>(
      'SELECT version, sealed FROM managed_secrets WHERE team_uid = $1 AND name = $2 FOR SHARE',
      [teamUid, name],
    );
    return row ?? null;
  }

  /** Of those that are there. */
  versions(tx: Queryable, teamUid: string, names: readonly string[]): Promise<{ name: string; version: number }[]> {
    return tx.query('SELECT name, version FROM managed_secrets WHERE team_uid = $1 AND name = ANY($2)', [
      teamUid,
      names,
    ]);
  }

  /** False when there is none. */
  async lock(tx: Queryable, teamUid: string, name: string): Promise<boolean> {
    const rows = await tx.query('SELECT 1 FROM managed_secrets WHERE team_uid = $1 AND name = $2 FOR UPDATE', [
      teamUid,
      name,
    ]);
    return rows.length > 0;
  }

  async delete(tx: Queryable, teamUid: string, name: string): Promise<void> {
    await tx.query('DELETE FROM managed_secrets WHERE team_uid = $1 AND name = $2', [teamUid, name]);
  }

  /** Counts one more, unless the team has `limit` already: then false. Null: whatever it has. */
  async takePlace(tx: Queryable, teamUid: string, limit: number | null): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO managed_secret_counts AS c (team_uid, secrets) VALUES ($1, 1)
       ON CONFLICT (team_uid) DO UPDATE SET secrets = c.secrets + 1 WHERE $2::int IS NULL OR c.secrets < $2
       RETURNING 1`,
      [teamUid, limit],
    );
    return rows.length > 0;
  }

  async givePlaceBack(tx: Queryable, teamUid: string): Promise<void> {
    await tx.query('UPDATE managed_secret_counts SET secrets = secrets - 1 WHERE team_uid = $1', [teamUid]);
  }
}

const toRecord = ({ name, version, created_at, updated_at }: Row): SecretRecord => ({
  name,
  version,
  createdAt: created_at,
  updatedAt: updated_at,
});
