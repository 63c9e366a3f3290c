import { assertSchemaCompatibility, LATEST_SCHEMA_VERSION, runMigrations, SchemaMigrationRequiredError } from 'bullmq';
import type { Pool, PoolClient } from 'pg';

/** Brings BullMQ's own schema (`bullmq`) to its newest version; part of `headrace migrate`. */
export async function migrateQueues(client: PoolClient): Promise<void> {
  await runMigrations(client, 'bullmq');
}

/** Whether the schema of the queues is there and new enough; rejects when it is too new for this version. */
export async function areQueuesMigrated(pool: Pool): Promise<boolean> {
  try {
    return (await assertSchemaCompatibility(pool, 'bullmq')) >= LATEST_SCHEMA_VERSION;
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return false;
    throw error;
  }
}
