import pg from 'pg';
import { CONNECT_TIMEOUT_MS, sessionOptions } from '../connection-options.js';
import { isDatabaseUnavailable } from '../database-error.js';
import { openPool } from '../survive-connection-loss.js';
import type { MigrationFile } from './migration-files.js';
import { changeOwnSchema } from './own-schema.js';
import {
  assertNotRestoring,
  assertUpgradable,
  isAdopted,
  type MigrationPlan,
  readSchemaState,
  SchemaError,
  type SchemaState,
} from './schema-state.js';

/** Spells "HEAD"; serialises migrating processes of one database, also those of earlier versions. */
const MIGRATION_LOCK = 0x48454144;

export interface MigrateOptions {
  readonly databaseUrl: string;
  readonly plan: MigrationPlan;
  /** Runs under the same lock, with the session options of the server, e.g. the queue's migrations. */
  readonly also?: (client: pg.PoolClient) => Promise<void>;
  /** The caller restores a backup into the database. */
  readonly isRestore?: boolean;
}

/** Safe in many processes at once. Returns the names that ran. A database it must not change throws a `SchemaError`. */
export async function migrate({ databaseUrl, plan, also, isRestore = false }: MigrateOptions): Promise<string[]> {
  const pool = openPool(databaseUrl);
  const client = await pool.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    if (!isRestore) await assertNotRestoring(client);
    await client.query('CREATE SCHEMA IF NOT EXISTS headrace');
    const state = await readSchemaState(client, plan);
    assertUpgradable(state, plan);
    if (state.kind !== 'current' || state.pending.length > 0) await applyOnConnection(databaseUrl, state, plan);
    await also?.(client);
    return state.pending.map(({ name }) => name);
  } finally {
    client.release(true);
    await pool.end();
  }
}

/** Ours on one connection, in their order; then each file of a plugin, whose settings must not reach another file. */
async function applyOnConnection(databaseUrl: string, state: SchemaState, plan: MigrationPlan): Promise<void> {
  const ours = state.pending.filter(({ ownSchema }) => ownSchema === null);
  await onConnection(databaseUrl, async (client) => {
    if (state.kind !== 'current') await inTransaction(client, () => createTable(client, state, plan));
    for (const file of ours.filter(({ isRepeatable }) => !isRepeatable))
      await inTransaction(client, () => apply(client, file));
    const repeatable = ours.filter(({ isRepeatable }) => isRepeatable);
    if (repeatable.length === 0) return;
    await inTransaction(client, async () => {
      // A function may call one that is created after it.
      await client.query('SET LOCAL check_function_bodies = off');
      for (const file of repeatable) await apply(client, file);
    });
  });
  for (const file of state.pending)
    if (file.ownSchema !== null)
      await onConnection(databaseUrl, (client) => inTransaction(client, () => apply(client, file)));
}

/** With the session options of the applications: extensions are created in the first schema of its path. */
async function onConnection(databaseUrl: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    options: sessionOptions(0),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // The statement that runs rejects as well.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/**
 * The table of applied files. It has the name of the earlier schema's table and a column of that name in common: an earlier
 * version that is started with this database refuses it as one of a newer version.
 */
async function createTable(client: pg.Client, { kind, pending }: SchemaState, plan: MigrationPlan): Promise<void> {
  await client.query(`
DROP TABLE IF EXISTS headrace.schema_migrations;
CREATE TABLE headrace.schema_migrations (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  checksum text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
  CONSTRAINT uq_schema_migrations__name_checksum UNIQUE (name, checksum)
)`);
  if (kind !== 'earlier') return;
  const waiting = new Set(pending);
  for (const file of plan.files) if (!waiting.has(file) && isAdopted(file, plan.earlier)) await record(client, file);
}

async function apply(client: pg.Client, file: MigrationFile): Promise<void> {
  const { name, sql, ownSchema } = file;
  try {
    if (ownSchema === null) await client.query(sql);
    else {
      await changeOwnSchema(client, { name, sql, schema: ownSchema });
      await client.query(`SET LOCAL search_path = headrace`);
    }
  } catch (error) {
    if (isDatabaseUnavailable(error) || error instanceof SchemaError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Migration ${name} failed: ${reason}`, { cause: error });
  }
  await record(client, file);
}

async function record(client: pg.Client, { name, checksum }: MigrationFile): Promise<void> {
  await client.query('INSERT INTO headrace.schema_migrations (name, checksum) VALUES ($1, $2)', [name, checksum]);
}

async function inTransaction(client: pg.Client, work: () => Promise<void>): Promise<void> {
  await client.query('BEGIN');
  try {
    await work();
    await client.query('COMMIT');
  } catch (error) {
    // A connection that is broken has rolled back by itself; the first error is what counts.
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
