import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseSettings } from '#libs/config';
import type { TestProject } from 'vitest/node';
import { migrateAll } from '../apps/headrace/src/process/migrations.js';
import { startTestPostgres } from '../libs/testing/src/database/test-postgres.js';

let close: () => Promise<void> = () => Promise.resolve();

/** Once per test run: one PostgreSQL server with a migrated database that every test file clones. */
export async function setup(project: TestProject): Promise<void> {
  const postgres = await startTestPostgres((databaseUrl) => migrateAll(parseSettings({ DATABASE_URL: databaseUrl })));
  const exchangesDir = await mkdtemp(join(tmpdir(), 'headrace-test-exchanges-'));
  project.provide('postgres', { url: postgres.url, template: postgres.template });
  project.provide('exchangesDir', exchangesDir);
  // For the project that runs after this one, which cannot see what is provided here.
  process.env.HEADRACE_EXCHANGES_DIR = exchangesDir;
  close = async () => {
    await postgres.stop();
    await rm(exchangesDir, { recursive: true, force: true });
  };
}

export async function teardown(): Promise<void> {
  await close();
}
