import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { EmbeddedPostgres } from '#platform/embedded-postgres';
import { installTestClock, type Queryable } from '#platform/persistence';

const TEMPLATE = 'headrace_template';

/** The one PostgreSQL server of a test run, with a migrated database that others are cloned from. */
export interface TestPostgres {
  /** Of the server's own database; for creating and dropping others. */
  readonly url: string;
  readonly template: string;
  stop(): Promise<void>;
}

/** `migrate` brings an empty database to the newest schema; the movable clock is put into it afterwards. */
export async function startTestPostgres(migrate: (databaseUrl: string) => Promise<unknown>): Promise<TestPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'headrace-test-postgres-'));
  const server = await EmbeddedPostgres.start({ dataDir, durable: false });
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await onDatabase(server.url, (database) => database.query(`CREATE DATABASE ${TEMPLATE}`));
    const templateUrl = otherDatabase(server.url, TEMPLATE);
    await migrate(templateUrl);
    await onDatabase(templateUrl, installTestClock);
    return { url: server.url, template: TEMPLATE, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The same server, another database. */
export function otherDatabase(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

/** One connection for as long as `work` takes. */
export async function onDatabase<T>(url: string, work: (database: Queryable) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work({
      query: async (statement, values = []) =>
        (await client.query(typeof statement === 'string' ? statement : statement.text, [...values])).rows,
    });
  } finally {
    await client.end();
  }
}

/**
 * Drops a database and ends the sessions that use it. Not `WITH (FORCE)`: that refuses while autovacuum works in the database, as
 * only superusers may end its process; plain `DROP DATABASE` ends it by itself.
 */
export async function dropDatabase(server: Queryable, name: string): Promise<void> {
  await server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await server.query(
    `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'`,
    [name],
  );
  await server.query(`DROP DATABASE ${name}`);
}
