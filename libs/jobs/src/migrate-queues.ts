import { runMigrations } from 'bullmq';
import type { PoolClient } from 'pg';

/** Brings BullMQ's own schema (`bullmq`) to its newest version; part of `headrace migrate`. */
export async function migrateQueues(client: PoolClient): Promise<void> {
  await runMigrations(client, 'bullmq');
}
