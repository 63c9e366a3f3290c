import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installTestClock, readMigrations } from '#platform/persistence';
import { createEmptyDatabase, type TestDatabase } from '#testing';
import { migrateAll, migrationSources } from '../../apps/headrace/src/process/migrations.js';
import { readCatalog } from './catalog.js';

/** The functions of a migrated database have the definitions in the SQL files. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createEmptyDatabase();
  await migrateAll({ databaseUrl: database.url });
});
afterAll(() => database.close());

const functionsAndTriggers = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(await readCatalog(database)).filter(([name]) => /^(function|trigger|table .* v) /.test(name)),
  );

it('has exactly one file for each database function', async () => {
  const live = Object.keys(await functionsAndTriggers())
    .filter((name) => name.startsWith('function '))
    .map((name) => name.replace(/^function (headrace\.)?/, '').replace(/\(.*/, ''));
  const files = migrationSources().flatMap(({ directory }) =>
    readdirSync(directory).includes('functions') ? readdirSync(join(directory, 'functions')) : [],
  );
  expect(files.map((file) => basename(file, '.sql')).sort()).toEqual(live.sort());
});

it('has each function and trigger as defined in its file', async () => {
  const live = await functionsAndTriggers();
  for (const file of readMigrations(migrationSources()).filter(({ isRepeatable }) => isRepeatable)) {
    const name = basename(file.name);
    // Without the function and its triggers, so that the comparison finds a trigger that the file lacks.
    for (const { drop } of await database.query<{ drop: string }>(
      `SELECT format('DROP FUNCTION %s CASCADE', oid::regprocedure) AS drop FROM pg_proc
        WHERE pronamespace = 'headrace'::regnamespace AND proname = $1 AND prorettype = 'trigger'::regtype`,
      [name],
    ))
      await database.query(drop);
    await database.query(file.sql);
    expect([name, await functionsAndTriggers()]).toEqual([name, live]);
  }
});

it('reinstalls the test clock with its offset after a migration has replaced now()', async () => {
  await installTestClock(database);
  await database.advanceClock(3_600_000);
  const now = readMigrations(migrationSources()).find(({ name }) => name === 'headrace/now');
  await database.query(now?.sql ?? '');
  await installTestClock(database);
  expect(await database.query(`SELECT headrace.now() - pg_catalog.now() = '1 hour' AS is_moved`)).toEqual([
    { is_moved: true },
  ]);
});
