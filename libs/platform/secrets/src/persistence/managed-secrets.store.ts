import { Injectable } from '@nestjs/common';
import { Database, type Queryable, writtenRow } from '#platform/persistence';
import type { SecretPurpose, SecretRecord } from '../domain/managed-secret.js';

const COLUMNS = 'name, purpose, version, created_at AS "createdAt", updated_at AS "updatedAt"';

export interface StoredValue {
  version: number;
  sealed: string;
}

/** Lists are bounded. Secrets that webhooks create for themselves are not subject to a team's limit. */
const MAX_LISTED = 10_000;

@Injectable()
export class ManagedSecretsStore {
  constructor(private readonly database: Database) {}

  /** All of the team, by name. */
  list(teamUid: string): Promise<SecretRecord[]> {
    return this.database.query<SecretRecord>(
      `SELECT ${COLUMNS} FROM managed_secrets WHERE team_uid = $1 ORDER BY lower(name), name LIMIT ${MAX_LISTED}`,
      [teamUid],
    );
  }

  /** `purpose` null keeps the stored one; a new secret is for runs. The row stays locked until the transaction ends. */
  async put(
    tx: Queryable,
    teamUid: string,
    name: string,
    { sealed, purpose }: { readonly sealed: string; readonly purpose: SecretPurpose | null },
  ): Promise<SecretRecord> {
    const rows = await tx.query<SecretRecord>(
      `INSERT INTO managed_secrets AS s (team_uid, name, sealed, purpose) VALUES ($1, $2, $3, coalesce($4, 'run'))
       ON CONFLICT (team_uid, name) DO UPDATE
         SET sealed = excluded.sealed, version = s.version + 1, updated_at = headrace.now(), purpose = coalesce($4, s.purpose)
       RETURNING ${COLUMNS}`,
      [teamUid, name, sealed, purpose],
    );
    return writtenRow(rows);
  }

  /** A secret for runs. Nobody can change or delete it until the transaction ends. */
  async shareForRun(tx: Queryable, teamUid: string, name: string): Promise<StoredValue | null> {
    const [row] = await tx.query<StoredValue>(
      `SELECT version, sealed FROM managed_secrets WHERE team_uid = $1 AND name = $2 AND purpose = 'run' FOR SHARE`,
      [teamUid, name],
    );
    return row ?? null;
  }

  /** With any purpose: a webhook may reserve it. Nobody else can read, change or delete it until the transaction ends. */
  async lockForWebhook(tx: Queryable, teamUid: string, name: string): Promise<StoredValue | null> {
    const [row] = await tx.query<StoredValue>(
      'SELECT version, sealed FROM managed_secrets WHERE team_uid = $1 AND name = $2 FOR NO KEY UPDATE',
      [teamUid, name],
    );
    return row ?? null;
  }

  async setPurpose(tx: Queryable, teamUid: string, name: string, purpose: SecretPurpose): Promise<void> {
    await tx.query('UPDATE managed_secrets SET purpose = $3 WHERE team_uid = $1 AND name = $2 AND purpose <> $3', [
      teamUid,
      name,
      purpose,
    ]);
  }

  /** By name, of those that exist. `purpose` null: of any purpose. */
  async versions(
    tx: Queryable,
    teamUid: string,
    names: readonly string[],
    purpose: SecretPurpose | null,
  ): Promise<ReadonlyMap<string, number>> {
    const rows = await tx.query<{ name: string; version: number }>(
      `SELECT name, version FROM managed_secrets
       WHERE team_uid = $1 AND name = ANY($2) AND ($3::text IS NULL OR purpose = $3)`,
      [teamUid, names, purpose],
    );
    return new Map(rows.map(({ name, version }) => [name, version]));
  }

  /** False when it does not exist. */
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

  /** Adds one to the team's count. False: the team has `limit` already. `limit` null: no limit applies. */
  async countCreated(tx: Queryable, teamUid: string, limit: number | null): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO managed_secret_counts AS c (team_uid, secrets) VALUES ($1, 1)
       ON CONFLICT (team_uid) DO UPDATE SET secrets = c.secrets + 1 WHERE $2::int IS NULL OR c.secrets < $2
       RETURNING 1`,
      [teamUid, limit],
    );
    return rows.length > 0;
  }

  async countDeleted(tx: Queryable, teamUid: string): Promise<void> {
    await tx.query('UPDATE managed_secret_counts SET secrets = secrets - 1 WHERE team_uid = $1', [teamUid]);
  }
}
