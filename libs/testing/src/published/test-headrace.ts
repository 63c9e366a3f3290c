import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Type } from '@nestjs/common';
import pg from 'pg';
import { advanceTestClock } from '#platform/persistence';

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

export interface TestHeadraceRequest {
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: that of the first user. null: none. */
  readonly token?: string | null;
}

export interface TestHeadraceResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON; undefined without. */
  readonly body: ReturnType<typeof JSON.parse>;
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
  request(status: number, operation: string, options?: TestHeadraceRequest): Promise<TestHeadraceResponse>;
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
      request: (status, operation, options) => request(headrace, status, operation, options),
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

async function request(
  { url, token: ownToken }: Pick<TestHeadrace, 'url' | 'token'>,
  status: number,
  operation: string,
  { body, headers, token = ownToken }: TestHeadraceRequest = {},
): Promise<TestHeadraceResponse> {
  const [method = '', path = ''] = operation.split(/ (.*)/s);
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status !== status)
    throw new Error(`${operation}: expected ${status}, got ${response.status}: ${text.slice(0, 2000)}`);
  const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '');
  return { status, headers: response.headers, body: isJson ? JSON.parse(text) : undefined };
}

async function createDatabase(serverUrl: string): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const name = `headrace_test_${randomBytes(8).toString('hex')}`;
  await onServer(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => onServer(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

async function onServer(connectionString: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
