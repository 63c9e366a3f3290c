import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { assertMigrated, migrate, type MigrationPlan, readMigrations, SchemaError } from '#platform/persistence';
import { createEmptyDatabase, type TestDatabase } from '#testing';
import { checkMigrated, migrateAll } from '../../apps/headrace/src/process/migrations.js';

/** Tests the migration runner with files that each test writes. */

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
  earlier: { source: 'test', migrations: ['First1'], baseline: '2026-01-01', advice: 'Start the version before.' },
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

describe('migration order', () => {
  it('applies migrations by date, then library, then name, and functions last', async () => {
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

  it('creates a function that calls a function created after it', async () => {
    write('a/functions/caller.sql', answer('x').replace('answer', 'caller').replace(`'x'`, 'headrace.later()'));
    write('a/functions/later.sql', answer('2').replace('answer', 'later'));
    await run(planOf('a'));
    expect(await database.query('SELECT headrace.caller() AS value')).toEqual([{ value: '2' }]);
  });

  it.each(['migrations/create-a.sql', 'migrations/2026-1-1-a.sql', 'functions/a-b.sql', 'functions/notes.md'])(
    'rejects a migration file with an invalid name: %s',
    (name) => {
      write(`a/${name}`, '');
      expect(() => planOf('a')).toThrow(name);
    },
  );

  it('rejects two migration files with the same name', () => {
    write('a/migrations/2026-01-01-create-a.sql', '');
    write('b/migrations/2026-01-01-create-a.sql', '');
    expect(() => planOf('a', 'b')).toThrow('test/2026-01-01-create-a');
  });
});

describe('changed migration file', () => {
  it('applies a changed function file again', async () => {
    write('a/functions/answer.sql', answer('1'));
    await run(planOf('a'));
    write('a/functions/answer.sql', answer('2'));
    await expect(check(planOf('a'))).rejects.toThrow('behind by 1 migration(s) (test/answer)');
    expect(await run(planOf('a'))).toEqual(['test/answer']);
    expect(await database.query('SELECT headrace.answer() AS value')).toEqual([{ value: '2' }]);
  });

  it('rejects a changed migration that was already applied and names it', async () => {
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

  it('accepts an applied migration with other line endings', async () => {
    write('a/migrations/2026-01-01-create-a.sql', `-- Two lines.\n${table('a')}\n`);
    await run(planOf('a'));
    write('a/migrations/2026-01-01-create-a.sql', `-- Two lines.\r\n${table('a')}\r\n`);
    await check(planOf('a'));
  });
});

describe('failed migration', () => {
  it('rolls back a failed migration, keeps earlier ones, and names it in the error', async () => {
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

describe('concurrent migration', () => {
  it('applies each migration once when several processes migrate concurrently', async () => {
    write('a/migrations/2026-01-01-create-a.sql', `${table('a')} SELECT pg_sleep(0.2);`);
    write('a/functions/answer.sql', answer('1'));
    const ran = await Promise.all(Array.from({ length: 5 }, () => run(planOf('a'))));
    expect(ran.flat().sort()).toEqual(['test/2026-01-01-create-a', 'test/answer']);
  });
});

describe('older version of the program', () => {
  beforeEach(async () => {
    write('a/migrations/2026-01-01-create-a.sql', table('a'));
    write('a/functions/answer.sql', answer('1'));
    await run(planOf('a'));
  });

  it('rejects a database with a migration that has no file', async () => {
    write('a/migrations/2026-01-02-create-b.sql', table('b'));
    await run(planOf('a'));
    remove('a/migrations/2026-01-02-create-b.sql');
    for (const work of [run, check])
      await expect(work(planOf('a'))).rejects.toMatchObject({ name: 'SchemaError', reason: 'ahead' });
  });

  it('rejects a database with a newer definition of a function', async () => {
    write('a/functions/answer.sql', answer('2'));
    await run(planOf('a'));
    write('a/functions/answer.sql', answer('1'));
    for (const work of [run, check])
      await expect(work(planOf('a'))).rejects.toMatchObject({ name: 'SchemaError', reason: 'ahead' });
    expect(await database.query('SELECT headrace.answer() AS value')).toEqual([{ value: '2' }]);
  });

  it('accepts a database with a function that has no file', async () => {
    write('a/functions/other.sql', answer('1').replace('answer', 'other'));
    await run(planOf('a'));
    remove('a/functions/other.sql');
    await check(planOf('a'));
  });
});

describe('migrations of another package', () => {
  it('applies migrations of another package, and accepts the database without that package', async () => {
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

  it('applies migrations of another package that are older than the first SQL files of Headrace', async () => {
    await database.query('CREATE SCHEMA headrace');
    await database.query(
      'CREATE TABLE headrace.schema_migrations (id serial PRIMARY KEY, timestamp bigint, name text)',
    );
    await database.query(`INSERT INTO headrace.schema_migrations (name) VALUES ('First1')`);
    write('a/migrations/2026-01-01-create-a.sql', table('a'));
    write('b/migrations/2026-01-01-create-b.sql', table('b'));
    expect(await run(planOf('a', ['b', 'other']))).toEqual(['other/2026-01-01-create-b']);
    await check(planOf('a', ['b', 'other']));
  });

  describe('of a plugin', () => {
    const OWN = 'plugin_acme';
    /** With the newest schema: what is rolled back leaves it to the next test. */
    let migrated: TestDatabase;
    const migratePlugin = (sql: string) => {
      write('extension/migrations/2026-12-01-change.sql', sql);
      const source = { name: 'acme', directory: join(root, 'extension'), ownSchema: OWN };
      return migrateAll({ databaseUrl: migrated.url }, [source]);
    };

    beforeAll(async () => {
      migrated = await createEmptyDatabase();
      await migrateAll({ databaseUrl: migrated.url });
    });
    afterAll(() => migrated.close());

    it('may change the schema of the plugin, which is the search path, and call functions of Headrace', async () => {
      await migratePlugin(`
        CREATE TABLE notes (uid text PRIMARY KEY, created_at timestamptz DEFAULT headrace.now());
        INSERT INTO notes (uid) VALUES ('first');
        CREATE FUNCTION first() RETURNS text LANGUAGE sql AS 'SELECT uid FROM plugin_acme.notes LIMIT 1';
        DO $$ BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN ALTER TABLE notes ADD COLUMN title text; END $$;`);
      expect(await migrated.query(`SELECT ${OWN}.first() AS first`)).toEqual([{ first: 'first' }]);
      await migrated.query(`DROP SCHEMA ${OWN} CASCADE`);
      await migrated.query(`DELETE FROM headrace.schema_migrations WHERE name LIKE 'acme/%'`);
    });

    it.each([
      ['a table of Headrace', 'ALTER TABLE headrace.teams ADD COLUMN colour text', 'headrace.teams'],
      ['a table in the schema of Headrace', 'CREATE TABLE headrace.notes ()', 'relation headrace.notes'],
      ['a table in the public schema', 'CREATE TABLE public.notes ()', 'relation public.notes'],
      ['a foreign key', 'CREATE TABLE notes (team text REFERENCES headrace.teams (uid))', 'of headrace.teams'],
      [
        'a trigger',
        'CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN END$$; CREATE TRIGGER t BEFORE INSERT ON headrace.teams EXECUTE FUNCTION f()',
        'trigger t of headrace.teams',
      ],
      [
        'a function of Headrace',
        `CREATE OR REPLACE FUNCTION headrace.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT pg_catalog.now()'`,
        'function headrace.now()',
      ],
      ['an index', 'CREATE INDEX ON headrace.teams (name)', 'relation headrace.teams'],
      ['rows', `INSERT INTO headrace.teams (uid, name) VALUES (repeat('a', 22), 'x')`, 'rows of headrace.teams'],
      ['a removed table', 'DROP TABLE headrace.webhook_counts', 'relation headrace.webhook_counts'],
      ['another schema', 'CREATE SCHEMA other', 'schema other'],
      ['a policy', 'CREATE POLICY p ON headrace.teams', 'policy p of headrace.teams'],
      ['a type', `CREATE TYPE headrace.colour AS ENUM ('red')`, 'type headrace.colour'],
      [
        'rows at the commit',
        `CREATE TABLE notes ();
         CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           INSERT INTO headrace.teams (uid, name) VALUES (repeat('a', 22), 'x'); RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER t AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION f();
         INSERT INTO notes DEFAULT VALUES`,
        'rows of headrace.teams',
      ],
    ])('is rolled back when it changes %s', async (_title, sql, changed) => {
      const refusal = await migratePlugin(sql).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(SchemaError);
      expect(refusal).toMatchObject({ reason: 'foreign_change', message: expect.stringContaining(changed) });
      expect(await migrated.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [OWN])).toEqual([]);
      await checkMigrated(migrated.url);
    });
  });

  it('cannot end its transaction, or leave settings to other migrations', async () => {
    await migrateAll({ databaseUrl: database.url });
    const source = { name: 'acme', directory: join(root, 'extension'), ownSchema: 'plugin_acme' };
    write('extension/migrations/2026-12-01-commit.sql', 'COMMIT; CREATE TABLE headrace.notes (); BEGIN;');
    const refusal = await migrateAll({ databaseUrl: database.url }, [source]).catch((error: unknown) => error);
    expect(String(refusal)).toMatch(/acme\/2026-12-01-commit failed: .*transaction/);
    expect(await database.query(`SELECT to_regclass('headrace.notes') AS notes`)).toEqual([{ notes: null }]);

    remove('extension/migrations/2026-12-01-commit.sql');
    write('extension/migrations/2020-01-01-set.sql', `SET search_path = plugin_acme; SET statement_timeout = '1ms'`);
    write('extension/migrations/2020-01-02-create.sql', 'CREATE TABLE notes AS SELECT pg_sleep(0.05)::text');
    expect(await migrateAll({ databaseUrl: database.url }, [source])).toEqual([
      'acme/2020-01-01-set',
      'acme/2020-01-02-create',
    ]);
    await database.query('DROP SCHEMA plugin_acme CASCADE');
  });

  it('allows another package to use the same file names as Headrace', () => {
    write('a/migrations/2026-01-01-create-a.sql', '');
    write('b/migrations/2026-01-01-create-a.sql', '');
    expect(planOf('a', ['b', 'other']).files.map(({ name }) => name)).toEqual([
      'test/2026-01-01-create-a',
      'other/2026-01-01-create-a',
    ]);
  });
});
