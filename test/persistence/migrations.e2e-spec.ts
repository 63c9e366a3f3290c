import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { assertMigrated, migrate, type MigrationPlan, readMigrations, SchemaError } from '#platform/persistence';
import { createEmptyDatabase, type TestDatabase } from '#testing';
import { checkMigrated, migrateAll } from '../../apps/headrace/src/process/migrations.js';

/** The runner of migrations, with files of the test. */

let database: TestDatabase;
let root: string;
beforeAll(async () => {
  database = await createEmptyDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.query('DROP SCHEMA IF EXISTS headrace CASCADE');
  root = mkdtempSync(join(tmpdir(), 'headrace-test-sql-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Writes `library/migrations/2026-01-01-create-a.sql` and the like. */
function write(path: string, sql: string): void {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), sql);
}
const remove = (path: string): void => rmSync(join(root, path));

/** `libraries`: directories, which have the name `test` in common where none is given. */
const planOf = (...libraries: readonly (string | readonly [string, string])[]): MigrationPlan => ({
  files: readMigrations(
    libraries.map((library) => {
      const [directory, name] = typeof library === 'string' ? [library, 'test'] : library;
      return { name, directory: join(root, directory) };
    }),
  ),
  earlier: { migrations: ['First1'], baseline: '2026-01-01', advice: 'Start the version before.' },
});
const run = (plan: MigrationPlan): Promise<string[]> => migrate({ databaseUrl: database.url, plan });

async function check(plan: MigrationPlan): Promise<void> {
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  try {
    await assertMigrated(pool, plan);
  } finally {
    await pool.end();
  }
}

const table = (name: string): string => `CREATE TABLE headrace.${name} (id int PRIMARY KEY);`;
const answer = (value: string): string =>
  `CREATE OR REPLACE FUNCTION headrace.answer() RETURNS text LANGUAGE sql AS $$ SELECT '${value}' $$;`;

describe('the order of files', () => {
  it('is that of dates, then of libraries, then of names; functions come last', async () => {
    write('a/migrations/2026-01-02-create-later.sql', table('later'));
    write('a/migrations/2026-01-01-create-b.sql', table('b'));
    write('a/migrations/2026-01-01-create-a.sql', table('a'));
    write('a/functions/first.sql', answer('1').replace('answer', 'first'));
    write('b/migrations/2026-01-01-create-c.sql', table('c'));
    const order = [
      'test/2026-01-01-create-c',
      'test/2026-01-01-create-a',
      'test/2026-01-01-create-b',
      'test/2026-01-02-create-later',
      'test/first',
    ];
    await expect(check(planOf('b', 'a'))).rejects.toMatchObject({ name: 'SchemaError', reason: 'behind' });
    expect(await run(planOf('b', 'a'))).toEqual(order);
    expect(await run(planOf('b', 'a'))).toEqual([]);
    await check(planOf('b', 'a'));
    const rows = await database.query('SELECT name FROM headrace.schema_migrations ORDER BY id');
    expect(rows.map(({ name }) => name)).toEqual(order);
  });

  it('lets a function call one that is created after it', async () => {
    write('a/functions/caller.sql', answer('x').replace('answer', 'caller').replace(`'x'`, 'headrace.later()'));
    write('a/functions/later.sql', answer('2').replace('answer', 'later'));
    await run(planOf('a'));
    expect(await database.query('SELECT headrace.caller() AS value')).toEqual([{ value: '2' }]);
  });

  it.each(['migrations/create-a.sql', 'migrations/2026-1-1-a.sql', 'functions/a-b.sql', 'functions/notes.md'])(
    'does not exist for a file with another name: %s',
    (name) => {
      write(`a/${name}`, '');
      expect(() => planOf('a')).toThrow(name);
    },
  );

  it('does not exist for two files of one name', () => {
    write('a/migrations/2026-01-01-create-a.sql', '');
    write('b/migrations/2026-01-01-create-a.sql', '');
    expect(() => planOf('a', 'b')).toThrow('test/2026-01-01-create-a');
  });
});

describe('a changed file', () => {
  it('is applied again when it is a function', async () => {
    write('a/functions/answer.sql', answer('1'));
    await run(planOf('a'));
    write('a/functions/answer.sql', answer('2'));
    await expect(check(planOf('a'))).rejects.toThrow('behind by 1 migration(s) (test/answer)');
    expect(await run(planOf('a'))).toEqual(['test/answer']);
    expect(await database.query('SELECT headrace.answer() AS value')).toEqual([{ value: '2' }]);
  });

  it('is an error that names it when it runs once', async () => {
    write('a/migrations/2026-01-01-create-a.sql', table('a'));
    await run(planOf('a'));
    write('a/migrations/2026-01-01-create-a.sql', table('b'));
    for (const work of [run, check]) {
      const error = await work(planOf('a')).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(SchemaError);
      expect((error as SchemaError).reason).toBe('changed');
      expect((error as Error).message).toContain('test/2026-01-01-create-a');
    }
  });

  it('is the same file with other ends of lines', async () => {
    write('a/migrations/2026-01-01-create-a.sql', `-- Two lines.\n${table('a')}\n`);
    await run(planOf('a'));
    write('a/migrations/2026-01-01-create-a.sql', `-- Two lines.\r\n${table('a')}\r\n`);
    await check(planOf('a'));
  });
});

describe('a file that fails', () => {
  it('leaves nothing of itself, keeps those before it, and is named', async () => {
    write('a/migrations/2026-01-01-create-a.sql', table('a'));
    write('a/migrations/2026-01-02-create-b.sql', `${table('b')} SELECT 1 / 0;`);
    await expect(run(planOf('a'))).rejects.toThrow('test/2026-01-02-create-b failed: division by zero');
    const [row] = await database.query(
      `SELECT to_regclass('headrace.a') IS NOT NULL AS a, to_regclass('headrace.b') IS NOT NULL AS b`,
    );
    expect(row).toEqual({ a: true, b: false });
    write('a/migrations/2026-01-02-create-b.sql', table('b'));
    expect(await run(planOf('a'))).toEqual(['test/2026-01-02-create-b']);
  });
});

describe('several processes at once', () => {
  it('apply each file once', async () => {
    write('a/migrations/2026-01-01-create-a.sql', `${table('a')} SELECT pg_sleep(0.2);`);
    write('a/functions/answer.sql', answer('1'));
    const ran = await Promise.all(Array.from({ length: 5 }, () => run(planOf('a'))));
    expect(ran.flat().sort()).toEqual(['test/2026-01-01-create-a', 'test/answer']);
  });
});

describe('an older program', () => {
  beforeEach(async () => {
    write('a/migrations/2026-01-01-create-a.sql', table('a'));
    write('a/functions/answer.sql', answer('1'));
    await run(planOf('a'));
  });

  it('refuses a database with a migration that it does not know', async () => {
    write('a/migrations/2026-01-02-create-b.sql', table('b'));
    await run(planOf('a'));
    remove('a/migrations/2026-01-02-create-b.sql');
    for (const work of [run, check])
      await expect(work(planOf('a'))).rejects.toMatchObject({ name: 'SchemaError', reason: 'ahead' });
  });

  it('refuses a database with a newer text of a function', async () => {
    write('a/functions/answer.sql', answer('2'));
    await run(planOf('a'));
    write('a/functions/answer.sql', answer('1'));
    for (const work of [run, check])
      await expect(work(planOf('a'))).rejects.toMatchObject({ name: 'SchemaError', reason: 'ahead' });
    expect(await database.query('SELECT headrace.answer() AS value')).toEqual([{ value: '2' }]);
  });

  it('uses a database with a function that it does not know', async () => {
    write('a/functions/other.sql', answer('1').replace('answer', 'other'));
    await run(planOf('a'));
    remove('a/functions/other.sql');
    await check(planOf('a'));
  });
});

describe('the directory of another package', () => {
  it('is applied with the files of Headrace, and is not missed where the package is not installed', async () => {
    write(
      'extension/migrations/2026-12-01-create-notes.sql',
      'CREATE TABLE headrace.notes (run_id uuid REFERENCES headrace.runs (id));',
    );
    write('extension/functions/answer.sql', answer('1'));
    const extension = { name: 'acme-notes', directory: join(root, 'extension') };
    const { url } = database;
    const ran = await migrateAll({ databaseUrl: url }, [extension]);
    expect(ran.slice(-1)).toEqual(['acme-notes/answer']);
    expect(ran).toContain('acme-notes/2026-12-01-create-notes');
    await checkMigrated(url, [extension]);
    await checkMigrated(url);
  });

  it('may have file names of Headrace', () => {
    write('a/migrations/2026-01-01-create-a.sql', '');
    write('b/migrations/2026-01-01-create-a.sql', '');
    expect(planOf('a', ['b', 'other']).files.map(({ name }) => name)).toEqual([
      'test/2026-01-01-create-a',
      'other/2026-01-01-create-a',
    ]);
  });
});
