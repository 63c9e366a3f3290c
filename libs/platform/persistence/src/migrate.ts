import pg from 'pg';
import { DataSource, type MigrationInterface } from 'typeorm';
import { CONNECT_TIMEOUT_MS, sessionOptions } from './connection-options.js';
import { sqlState } from './database-error.js';
import { surviveConnectionLoss } from './survive-connection-loss.js';

export type MigrationClass = new () => MigrationInterface;

/** Spells "HEAD"; serialises migrating processes of one database. */
const MIGRATION_LOCK = 0x48454144;
const MIGRATIONS_TABLE = 'schema_migrations';
/** Undefined table, undefined schema. */
const NO_SCHEMA: readonly string[] = ['42P01', '3F000'];

export interface MigrateOptions {
  readonly databaseUrl: string;
  readonly migrations: readonly MigrationClass[];
  /** Runs under the same lock on a connection of its own, e.g. the queue's migrations. */
  readonly also?: (client: pg.PoolClient) => Promise<void>;
}

/**
 * Brings the database to the newest schema; safe to call from many processes at once. Returns the names that ran. Throws a
 * {@link SchemaAheadError} when the database has migrations that this program does not know.
 */
export async function migrate({ databaseUrl, migrations, also }: MigrateOptions): Promise<string[]> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  surviveConnectionLoss(pool);
  const client = await pool.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await client.query('CREATE SCHEMA IF NOT EXISTS headrace');
    assertKnown(await appliedMigrations(client), migrations);
    const dataSource = await new DataSource({
      type: 'postgres',
      url: databaseUrl,
      schema: 'headrace',
      poolSize: 1,
      extra: { options: sessionOptions(0), connectionTimeoutMillis: CONNECT_TIMEOUT_MS },
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

/** The database is newer than the program. */
export class SchemaAheadError extends Error {
  constructor(unknown: readonly string[]) {
    super(
      `The database schema is newer than this version of Headrace: it has ${unknown.length} migration(s) that this version does not know (${unknown.join(', ')}). Start the version that wrote them, or a newer one; an older version can only use a backup that was made before.`,
    );
    this.name = 'SchemaAheadError';
  }
}

/**
 * Throws a {@link SchemaAheadError} when the database has a migration that the program does not know, and a
 * {@link SchemaBehindError} when it lacks one: applications never migrate, they only check.
 */
export async function assertMigrated(pool: pg.Pool, migrations: readonly MigrationClass[]): Promise<void> {
  const applied = await appliedMigrations(pool);
  assertKnown(applied, migrations);
  const missing = migrations.map(nameOf).filter((name) => !applied.has(name));
  if (missing.length > 0) throw new SchemaBehindError(missing);
}

const nameOf = (migration: MigrationClass): string => new migration().name ?? migration.name;

function assertKnown(applied: ReadonlySet<string>, migrations: readonly MigrationClass[]): void {
  const known = new Set(migrations.map(nameOf));
  const unknown = [...applied].filter((name) => !known.has(name));
  if (unknown.length > 0) throw new SchemaAheadError(unknown);
}

/** Names of the migrations that have run; none where there is no schema yet. */
async function appliedMigrations(client: Pick<pg.Pool, 'query'> | pg.PoolClient): Promise<Set<string>> {
  try {
    const { rows } = await client.query<{ name: string }>(`SELECT name FROM headrace.${MIGRATIONS_TABLE}`);
    return new Set(rows.map(({ name }) => name));
  } catch (error) {
    if (NO_SCHEMA.includes(sqlState(error) ?? '')) return new Set();
    throw error;
  }
}
