import pg from 'pg';
import { DataSource, type MigrationInterface } from 'typeorm';
import { SESSION_OPTIONS } from './connection-options.js';
import { surviveConnectionLoss } from './survive-connection-loss.js';

export type MigrationClass = new () => MigrationInterface;

/** Spells "HEAD"; serialises migrating processes of one database. */
const MIGRATION_LOCK = 0x48454144;
const MIGRATIONS_TABLE = 'schema_migrations';

export interface MigrateOptions {
  readonly databaseUrl: string;
  readonly migrations: readonly MigrationClass[];
  /** Runs under the same lock on a connection of its own, e.g. the queue's migrations. */
  readonly also?: (client: pg.PoolClient) => Promise<void>;
}

/** Brings the database to the newest schema; safe to call from many processes at once. Returns the names that ran. */
export async function migrate({ databaseUrl, migrations, also }: MigrateOptions): Promise<string[]> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  surviveConnectionLoss(pool);
  const client = await pool.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await client.query('CREATE SCHEMA IF NOT EXISTS headrace');
    const dataSource = await new DataSource({
      type: 'postgres',
      url: databaseUrl,
      schema: 'headrace',
      poolSize: 1,
      extra: { options: SESSION_OPTIONS.replace(/statement_timeout=\d+/, 'statement_timeout=0') },
      migrations: [...migrations],
      migrationsTableName: MIGRATIONS_TABLE,
      migrationsTransactionMode: 'each',
    }).initialize();
    try {
      const ran = await dataSource.runMigrations();
      await also?.(client);
      return ran.map((migration) => migration.name);
    } finally {
      await dataSource.destroy();
    }
  } finally {
    client.release(true);
    await pool.end();
  }
}

/** The program is newer than the database. */
export class SchemaBehindError extends Error {
  constructor(missing: readonly string[]) {
    super(
      `The database schema is behind by ${missing.length} migration(s) (${missing.join(', ')}). Run \`headrace migrate\`.`,
    );
    this.name = 'SchemaBehindError';
  }
}

/** Throws a {@link SchemaBehindError} when the database lacks one of the migrations: applications never migrate, they only check. */
export async function assertMigrated(pool: pg.Pool, migrations: readonly MigrationClass[]): Promise<void> {
  const known = await pool
    .query<{ name: string }>(`SELECT name FROM headrace.${MIGRATIONS_TABLE}`)
    .then(({ rows }) => new Set(rows.map((row) => row.name)))
    .catch((error: unknown) => {
      if ((error as { code?: string }).code === '42P01' || (error as { code?: string }).code === '3F000')
        return new Set<string>();
      throw error;
    });
  const missing = migrations
    .map((migration) => new migration().name ?? migration.name)
    .filter((name) => !known.has(name));
  if (missing.length > 0) throw new SchemaBehindError(missing);
}
