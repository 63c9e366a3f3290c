import pg from 'pg';
import type { Settings } from '#libs/config';
import { agentMigrations } from '#libs/agents';
import { authMigrations } from '#libs/auth';
import { automationMigrations } from '#libs/automations';
import { conversationMigrations } from '#libs/conversations';
import { definitionMigrations } from '#libs/definitions';
import { environmentMigrations } from '#libs/environments';
import { factoryMigrations } from '#libs/factories';
import { migrateQueues } from '#libs/jobs';
import { notificationMigrations } from '#libs/notifications';
import { assertMigrated, migrate, type MigrationClass } from '#libs/persistence';
import { runMigrations } from '#libs/runs';
import { scheduleMigrations } from '#libs/schedules';
import { secretMigrations } from '#libs/secrets';
import { storageMigrations } from '#libs/storage';
import { webhookMigrations } from '#libs/webhooks';
import { workerMigrations } from '#libs/workers';

/** Every room's migrations; they run in the order of the times in their names. */
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

/** The names of all migrations, in the order of the rooms. */
export const migrationNames = (): string[] => MIGRATIONS.map((migration) => new migration().name ?? migration.name);

/** Rejects when the database lacks a migration. */
export async function checkMigrated(databaseUrl: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  try {
    await assertMigrated(pool, MIGRATIONS);
  } finally {
    await pool.end();
  }
}

async function migrateQueueDatabase(queueUrl: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: queueUrl, max: 1 });
  const client = await pool.connect();
  try {
    await migrateQueues(client);
  } finally {
    client.release();
    await pool.end();
  }
}
