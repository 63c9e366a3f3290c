import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Type } from '@nestjs/common';
import pg from 'pg';
import { advanceTestClock } from '#platform/persistence';
import { dropDatabase, onDatabase, otherDatabase } from '../database/test-postgres.js';
import { sendRequest, type TestRequest, type TestResponse } from './send-request.js';

export interface TestHeadraceOptions {
  /** Classes with `@Plugin()`. */
  readonly plugins?: readonly Type[];
  /** Settings by the names of `.env.example`, besides those for tests: free ports, a separate data directory, no rate limit. */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * A PostgreSQL server on which a database is created for this test and dropped afterwards. Default: the variable
   * HEADRACE_TEST_DATABASE_URL, else an embedded server.
   */
  readonly databaseUrl?: string;
}

export interface TestHeadraceRequest extends Omit<TestRequest, 'token'> {
  /** Default: that of the first user. null: none. */
  readonly token?: string | null;
}

/** A whole installation in the process of the test. */
export interface TestHeadrace {
  /** Origin of the API. */
  readonly url: string;
  /** Origin of the webhook ingress. */
  readonly ingressUrl: string;
  /** Bearer token of the owner of the team. */
  readonly token: string;
  readonly teamUid: string;
  readonly factoryUid: string;
  /** Requests an operation of the API, such as `request(201, 'POST /factories', { body })`. Rejects for another status. */
  request(status: number, operation: string, options?: TestHeadraceRequest): Promise<TestResponse>;
  query<Row extends pg.QueryResultRow>(statement: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Moves the time of the installation. Waiting work is found by its next poll. */
  advanceClock(milliseconds: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts an installation with plugins. It executes runs with the built-in agent, which needs no key and no network.
 *
 *   const headrace = await startTestHeadrace({ plugins: [AcmePlugin] });
 *   afterAll(() => headrace.close());
 */
export async function startTestHeadrace({
  plugins = [],
  settings = {},
  databaseUrl = process.env.HEADRACE_TEST_DATABASE_URL,
}: TestHeadraceOptions = {}): Promise<TestHeadrace> {
  const dataDir = await mkdtemp(join(tmpdir(), 'headrace-test-'));
  const database = databaseUrl === undefined ? null : await createDatabase(databaseUrl);
  const remove = async (): Promise<void> => {
    await database?.drop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    // Loaded here: the conformance tests of this package need no installation.
    const { startHeadrace } = await import('#apps/headrace/src/start');
    const headrace = await startHeadrace({
      plugins,
      settings: {
        HEADRACE_DATA_DIR: dataDir,
        HEADRACE_TEST_CLOCK: 'true',
        PORT: '0',
        INGRESS_PORT: '0',
        API_RATE_PER_MINUTE: '0',
        API_REJECTION_RATE_LIMIT: '0',
        GIT_ALLOW_PRIVATE: 'loopback',
        LOG_LEVEL: 'error',
        WARM_RUNNERS: '0',
        ...(database === null ? {} : { DATABASE_URL: database.url }),
        ...settings,
      },
    });
    const pool = new pg.Pool({
      connectionString: headrace.databaseUrl,
      max: 2,
      options: '-c search_path=headrace,public',
    });
    // The server may stop before the pool.
    pool.on('error', () => undefined);
    const { url, ingressUrl, token, teamUid, factoryUid } = headrace;
    const query = async <Row extends pg.QueryResultRow>(statement: string, values: readonly unknown[] = []) =>
      (await pool.query<Row>(statement, [...values])).rows;
    return {
      url,
      ingressUrl,
      token,
      teamUid,
      factoryUid,
      query,
      request: (status, operation, { token: given = token, ...options } = {}) =>
        sendRequest(`${url}/api/v1`, status, operation, {
          redirect: 'follow',
          ...options,
          ...(given === null ? {} : { token: given }),
        }),
      advanceClock: (milliseconds) =>
        advanceTestClock(
          { query: (statement, values) => query(typeof statement === 'string' ? statement : statement.text, values) },
          milliseconds,
        ),
      close: async () => {
        await pool.end();
        await headrace.close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function createDatabase(serverUrl: string): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const name = `headrace_test_${randomBytes(8).toString('hex')}`;
  await onDatabase(serverUrl, (server) => server.query(`CREATE DATABASE ${name}`));
  return {
    url: otherDatabase(serverUrl, name),
    drop: () => onDatabase(serverUrl, (server) => dropDatabase(server, name)),
  };
}
