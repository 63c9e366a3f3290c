import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { advanceTestClock } from '#platform/persistence';
import { dropDatabase, onDatabase, otherDatabase } from './test-postgres.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the test run's PostgreSQL server and the name of the database to clone; from test/global-setup.ts. */
    postgres: { url: string; template: string };
    /** Where test clients note which operation answered with which status. */
    exchangesDir: string;
  }
}

/** A separate database, migrated and empty. */
export interface TestDatabase {
  readonly url: string;
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Moves `headrace.now()` of this database. Returns the whole shift so far, in milliseconds. */
  advanceClock(milliseconds: number): Promise<number>;
  /** Drops it and ends the sessions that still use it. */
  close(): Promise<void>;
}

export async function createTestDatabase(): Promise<TestDatabase> {
  const { template } = inject('postgres');
  // Copied as files: through the log, block by block, it would take twice as long.
  return createDatabase(`TEMPLATE ${template} STRATEGY FILE_COPY`);
}

/** A database without a schema, for tests of migrations. */
export const createEmptyDatabase = (): Promise<TestDatabase> => createDatabase('TEMPLATE template0');

async function createDatabase(options: string): Promise<TestDatabase> {
  const { url: serverUrl } = inject('postgres');
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onDatabase(serverUrl, (server) => server.query(`CREATE DATABASE ${name} ${options}`));
  const url = otherDatabase(serverUrl, name);
  const pool = new pg.Pool({
    connectionString: url,
    max: 2,
    options: '-c search_path=headrace,public -c timezone=UTC',
  });
  // Dropping the database breaks idle connections of ours too; that is no news.
  pool.on('error', () => undefined);
  const query = async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    (await pool.query<Row>(text, [...values])).rows;
  return {
    url,
    query,
    advanceClock: async (milliseconds) => {
      await advanceTestClock(
        { query: (statement, values) => query(typeof statement === 'string' ? statement : statement.text, values) },
        milliseconds,
      );
      const [row] = await query<{ ms: string }>(
        'SELECT extract(epoch FROM shift) * 1000 AS ms FROM headrace.test_clock',
      );
      return Number(row?.ms);
    },
    close: async () => {
      await pool.end();
      await onDatabase(serverUrl, (server) => dropDatabase(server, name));
    },
  };
}
