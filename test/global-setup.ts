import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSettings } from '#platform/config';
import type { TestProject } from 'vitest/node';
import { migrateAll } from '../apps/headrace/src/process/migrations.js';
import { startTestPostgres } from '../libs/testing/src/database/test-postgres.js';
import { bundle } from '../scripts/lib/bundle.mjs';

interface Shared {
  readonly postgres: { readonly url: string; readonly template: string };
  readonly exchangesDir: string;
  readonly beginningsDir: string;
  readonly programsDir: string;
  close(): Promise<void>;
}

/** Every project of a run calls these functions from a separate copy of this module. */
const run = globalThis as { headraceTestRun?: { shared: Promise<Shared>; users: number } };

/** Once per test run: one PostgreSQL server with a migrated database that every test file clones. */
export async function setup(project: TestProject): Promise<void> {
  run.headraceTestRun ??= { shared: start(), users: 0 };
  run.headraceTestRun.users += 1;
  const { postgres, exchangesDir, beginningsDir, programsDir } = await run.headraceTestRun.shared;
  project.provide('postgres', { url: postgres.url, template: postgres.template });
  project.provide('exchangesDir', exchangesDir);
  project.provide('beginningsDir', beginningsDir);
  project.provide('programsDir', programsDir);
}

async function start(): Promise<Shared> {
  const postgres = await startTestPostgres((databaseUrl) => migrateAll(parseSettings({ DATABASE_URL: databaseUrl })));
  const exchangesDir = await mkdtemp(join(tmpdir(), 'headrace-test-exchanges-'));
  const beginningsDir = await mkdtemp(join(tmpdir(), 'headrace-test-beginnings-'));
  // As root, PostgreSQL has its own user, who must pass.
  await chmod(beginningsDir, 0o711);
  const programsDir = await bundlePrograms();
  // For the project that runs after the others, which cannot see what is provided to them.
  process.env.HEADRACE_EXCHANGES_DIR = exchangesDir;
  return {
    postgres,
    exchangesDir,
    beginningsDir,
    programsDir,
    close: async () => {
      await postgres.stop();
      await rm(exchangesDir, { recursive: true, force: true });
      await rm(beginningsDir, { recursive: true, force: true });
      await rm(programsDir, { recursive: true, force: true });
    },
  };
}

/** Programs that tests start dozens of times. In `dist`, since they import packages. */
async function bundlePrograms(): Promise<string> {
  const directory = await mkdtemp(fileURLToPath(new URL('../dist/test-programs-', import.meta.url)));
  const programs = (...paths: string[]): Record<string, string> =>
    Object.fromEntries(
      paths.map((path) => [basename(path), fileURLToPath(new URL(`${path}.mjs`, import.meta.url))] as const),
    );
  await bundle(programs('crash/firing-process', 'crash/object-store-process', 'crash/timer-process'), directory);
  // One file without parts that it shares with others: it is copied to where agents can read it.
  await bundle(programs('journeys/work-tree-process'), directory);
  return directory;
}

export async function teardown(): Promise<void> {
  const { headraceTestRun: known } = run;
  if (!known) return;
  known.users -= 1;
  if (known.users === 0) await (await known.shared).close();
}
