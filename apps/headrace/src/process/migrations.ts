import type pg from 'pg';
import type { Settings } from '#platform/config';
import { areQueuesMigrated, migrateQueues } from '#platform/jobs';
import { findShipped } from '#platform/kernel';
import {
  assertMigrated,
  migrate,
  type MigrationPlan,
  type MigrationSource,
  openPool,
  readMigrations,
  readSchemaState,
  SchemaError,
  type SchemaState,
} from '#platform/persistence';
import { EARLIER_SCHEMA } from './earlier-migrations.js';

/**
 * The libraries with SQL files. Files of one date are applied in this order, so a table is created before the tables that
 * refer to it: this is not the order of imports.
 */
const LIBRARIES = [
  'platform/persistence',
  'platform/auth',
  'platform/storage',
  'platform/secrets',
  'platform/timers',
  'platform/audit',
  'domain/factories',
  'domain/environments',
  'domain/agents',
  'execution/worker-gateway',
  'domain/runs',
  'execution/executions',
  'domain/conversations',
  'domain/webhooks',
  'domain/ingress',
  'domain/schedules',
  'domain/automations',
  'domain/definitions',
  'domain/notifications',
  'domain/answers',
];

export const migrationSources = (): MigrationSource[] =>
  LIBRARIES.map((library) => ({ name: 'headrace', directory: findShipped(`libs/${library}/sql`) }));

/** `additional`: directories of packages that extend Headrace; their files come after those of Headrace with their date. */
const planOf = (additional: readonly MigrationSource[]): MigrationPlan => ({
  files: readMigrations([...migrationSources(), ...additional]),
  earlier: EARLIER_SCHEMA,
});

/** Brings the database, and the queues' one where that is another, to the newest schema. Returns the names of what ran. */
export async function migrateAll(
  { databaseUrl, queueUrl }: Partial<Pick<Settings, 'databaseUrl' | 'queueUrl'>>,
  additional: readonly MigrationSource[] = [],
  { isRestore = false }: { readonly isRestore?: boolean } = {},
): Promise<string[]> {
  if (databaseUrl === undefined) throw new Error('There is no database to migrate.');
  const plan = planOf(additional);
  if (queueUrl === undefined) return migrate({ databaseUrl, plan, also: migrateQueues, isRestore });
  if (queueUrl.startsWith('postgres')) await migrateQueueDatabase(queueUrl);
  return migrate({ databaseUrl, plan, isRestore });
}

type AppliedMigration = { readonly name: string; readonly checksum: string };

/** Throws a `SchemaError` when this program does not have one of the migrations as it was applied. */
export function assertRestorable(applied: readonly AppliedMigration[], additional: readonly MigrationSource[]): void {
  const ours = new Map(planOf(additional).files.map((file) => [file.name, file]));
  const unknown = applied.filter(({ name }) => !ours.has(name)).map(({ name }) => name);
  if (unknown.length > 0)
    throw new SchemaError(
      'ahead',
      `The backup has migrations that this program does not have: ${unknown.join(', ')}. Use the version that created the backup or a newer one, with the same plugins.`,
    );
  const changed = applied.filter(({ name, checksum }) => ours.get(name)?.checksum !== checksum);
  if (changed.length > 0)
    throw new SchemaError(
      'changed',
      `Migrations are not those that the backup was made with: ${changed.map(({ name }) => name).join(', ')}.`,
    );
}

/** Creates the schema that a database had with these migrations, so that its rows can be loaded. */
export async function migrateTo(
  databaseUrl: string,
  applied: readonly AppliedMigration[],
  additional: readonly MigrationSource[],
): Promise<void> {
  const plan = planOf(additional);
  const names = new Set(applied.map(({ name }) => name));
  const files = plan.files.filter(({ name, isRepeatable }) => isRepeatable || names.has(name));
  await migrate({ databaseUrl, plan: { ...plan, files }, isRestore: true });
}

/** Rejects when the schema of the database is not that of this program. */
export async function checkMigrated(databaseUrl: string, additional: readonly MigrationSource[] = []): Promise<void> {
  const pool = openPool(databaseUrl);
  try {
    await assertMigrated(pool, planOf(additional));
  } finally {
    await pool.end();
  }
}

/** Rejects when the schema of the queues in a database is not that of this program. */
export async function checkQueuesMigrated(databaseUrl: string): Promise<void> {
  const pool = openPool(databaseUrl);
  try {
    if (await areQueuesMigrated(pool)) return;
    throw new SchemaError('behind', 'The schema of the queues is behind. Run `headrace migrate`.');
  } finally {
    await pool.end();
  }
}

/** How the schema of a database differs from that of this program, which has `total` files. */
export async function schemaStateOf(
  pool: pg.Pool,
  additional: readonly MigrationSource[],
): Promise<SchemaState & { readonly total: number }> {
  const plan = planOf(additional);
  return { ...(await readSchemaState(pool, plan)), total: plan.files.length };
}

async function migrateQueueDatabase(queueUrl: string): Promise<void> {
  const pool = openPool(queueUrl);
  const client = await pool.connect();
  try {
    await migrateQueues(client);
  } finally {
    client.release();
    await pool.end();
  }
}
