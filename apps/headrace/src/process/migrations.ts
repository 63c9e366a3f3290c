import pg from 'pg';
import type { Settings } from '#platform/config';
import { agentMigrations } from '#migrations/domain/agents';
import { authMigrations } from '#migrations/platform/auth';
import { automationMigrations } from '#migrations/domain/automations';
import { conversationMigrations } from '#migrations/domain/conversations';
import { definitionMigrations } from '#migrations/domain/definitions';
import { environmentMigrations } from '#migrations/domain/environments';
import { factoryMigrations } from '#migrations/domain/factories';
import { migrateQueues } from '#platform/jobs';
import { notificationMigrations } from '#migrations/domain/notifications';
import { assertMigrated, migrate, type MigrationClass, surviveConnectionLoss } from '#platform/persistence';
import { runMigrations } from '#migrations/domain/runs';
import { scheduleMigrations } from '#migrations/domain/schedules';
import { secretMigrations } from '#migrations/platform/secrets';
import { storageMigrations } from '#migrations/platform/storage';
import { webhookMigrations } from '#migrations/domain/webhooks';
import { workerMigrations } from '#migrations/execution/worker-gateway';

/** The migrations of every library; they run in the order of the times in their names. */
const MIGRATIONS: readonly MigrationClass[] = [
  ...authMigrations,
  ...storageMigrations,
  ...secretMigrations,
  ...factoryMigrations,
  ...environmentMigrations,
  ...workerMigrations,
  ...agentMigrations,
  ...runMigrations,
  ...conversationMigrations,
  ...webhookMigrations,
  ...scheduleMigrations,
  ...automationMigrations,
  ...definitionMigrations,
  ...notificationMigrations,
];

/** Brings the database, and the queues' one where that is another, to the newest schema. Returns the names of what ran. */
export async function migrateAll(settings: Settings): Promise<string[]> {
  const { databaseUrl, queueUrl } = settings;
  if (databaseUrl === undefined) throw new Error('There is no database to migrate.');
  if (queueUrl === undefined) return migrate({ databaseUrl, migrations: MIGRATIONS, also: migrateQueues });
  if (queueUrl.startsWith('postgres')) await migrateQueueDatabase(queueUrl);
  return migrate({ databaseUrl, migrations: MIGRATIONS });
}

/** The names of all migrations, in the order of the libraries. */
export const migrationNames = (): string[] => MIGRATIONS.map((migration) => new migration().name ?? migration.name);

/** Rejects when the database lacks a migration. */
export async function checkMigrated(databaseUrl: string): Promise<void> {
  const pool = singleConnection(databaseUrl);
  try {
    await assertMigrated(pool, MIGRATIONS);
  } finally {
    await pool.end();
  }
}

async function migrateQueueDatabase(queueUrl: string): Promise<void> {
  const pool = singleConnection(queueUrl);
  const client = await pool.connect();
  try {
    await migrateQueues(client);
  } finally {
    client.release();
    await pool.end();
  }
}

function singleConnection(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 1 });
  surviveConnectionLoss(pool);
  return pool;
}
