import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseSettings } from '#libs/config';
import type { TestProject } from 'vitest/node';
import { migrateAll } from '../apps/headrace/src/process/migrations.js';
import { startTestPostgres } from '../libs/testing/src/database/test-postgres.js';

interface Shared {
  readonly postgres: { readonly url: string; readonly template: string };
  readonly exchangesDir: string;
  readonly beginningsDir: string;
  close(): Promise<void>;
}

/** Every project of a run calls what is below, from a copy of this module of its own. */
const run = globalThis as { headraceTestRun?: { shared: Promise<Shared>; users: number } };

/** Once per test run: one PostgreSQL server with a migrated database that every test file clones. */
export async function setup(project: TestProject): Promise<void> {
  run.headraceTestRun ??= { shared: start(), users: 0 };
  run.headraceTestRun.users += 1;
  const { postgres, exchangesDir, beginningsDir } = await run.headraceTestRun.shared;
  project.provide('postgres', { url: postgres.url, template: postgres.template });
  project.provide('exchangesDir', exchangesDir);
  project.provide('beginningsDir', beginningsDir);
}

async function start(): Promise<Shared> {
  const postgres = await startTestPostgres((databaseUrl) => migrateAll(parseSettings({ DATABASE_URL: databaseUrl })));
  const exchangesDir = await mkdtemp(join(tmpdir(), 'headrace-test-exchanges-'));
  const beginningsDir = await mkdtemp(join(tmpdir(), 'headrace-test-beginnings-'));
  // As root, PostgreSQL has a user of its own, who must pass.
  await chmod(beginningsDir, 0o711);
  // For the project that runs after the others, which cannot see what is provided to them.
  process.env.HEADRACE_EXCHANGES_DIR = exchangesDir;
  return {
    postgres,
    exchangesDir,
    beginningsDir,
    close: async () => {
      await postgres.stop();
      await rm(exchangesDir, { recursive: true, force: true });
      await rm(beginningsDir, { recursive: true, force: true });
    },
  };
}

export async function teardown(): Promise<void> {
  const { headraceTestRun: known } = run;
  if (!known) return;
  known.users -= 1;
  if (known.users === 0) await (await known.shared).close();
}
