import pg, { type PoolClient } from 'pg';
import { expect } from 'vitest';
import type { ErrorCode } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { noteExchange, type TestApi, type TestRequest, type TestResponse, until } from '#testing';

/** A well-formed uid that no resource has. */
export const UNKNOWN_UID = '0'.repeat(22);
/** A well-formed run id that no run has. */
export const UNKNOWN_RUN_ID = '01900000-0000-7000-8000-00000000dead';
/** A body that exceeds the limit of every operation with a JSON body. */
export const OVERSIZED_BODY = JSON.stringify({ name: 'x'.repeat(2_200_000) });

/** Headers that choose a team. */
export const inTeam = (uid: string): Record<string, string> => ({ 'X-Headrace-Team-Uid': uid });

/** The fields that a problem document reports. */
export const pointersOf = (body: { errors: { pointer: string }[] }): string[] =>
  body.errors.map(({ pointer }) => pointer);

/** Checks the members that every problem document has, and that no error was logged. */
export function expectProblem(
  api: TestApi,
  { status, headers, body }: Pick<TestResponse, 'status' | 'headers' | 'body'>,
  code: ErrorCode,
  errors?: readonly { pointer: string; detail: string }[],
): void {
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(body).toMatchObject({
    type: `${api.url}/problems/${code}`,
    status,
    error_code: code,
    error: `${body.title}: ${body.detail}`,
    trace_id: headers.get('x-trace-id'),
  });
  expect(body.errors).toEqual(errors);
  expect(api.log.errors).toEqual([]);
}

/** For races, in which the status is the result. The exchange is noted like one of the test client. */
export async function requestAnyStatus(
  api: TestApi,
  line: string,
  { token, body, headers }: TestRequest,
): Promise<TestResponse> {
  const [method = '', path = ''] = line.split(/ (.*)/s);
  const response = await fetch(`${api.url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  noteExchange(method, path, response.status);
  const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
}

/** Sends all while another session holds `lock`, so that those that need it wait for the same moment. */
export async function sendConcurrently<T>(api: TestApi, lock: string, send: () => Promise<T>[]): Promise<T[]> {
  const blocker = new pg.Client({ connectionString: api.database.url });
  await blocker.connect();
  try {
    await blocker.query(`BEGIN; ${lock}`);
    const responses = Promise.all(send());
    // The API responds to each of these after it has read the requests that arrived before.
    for (let turn = 0; turn < 20; turn += 1) await api.atOrigin(200, 'GET /health/live');
    await blocker.query('COMMIT');
    return await responses;
  } finally {
    await blocker.end();
  }
}

/** Until `count` sessions of the database of the API wait for a lock. */
export const untilWaiting = (api: TestApi, count: number): Promise<unknown> =>
  until(
    async () => {
      const [row] = await api.database.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return row?.count === count;
    },
    15_000,
    `${count} requests to wait for a lock`,
  );

/** The lock that every change of the state of a run takes. */
export const lockOfRun = (runId: string): string => `SELECT 1 FROM headrace.runs WHERE id = '${runId}' FOR UPDATE`;

/** Statements that run at any moment: authentication, whose results are cached for a second, and background tasks. */
const BACKGROUND_STATEMENTS = new Set([
  'auth_touch_tokens',
  'auth_find_token',
  'workers_note_reachable',
  'workers_remove_dead',
]);

/**
 * The statements that the API sends to its database during `work`, without those of authentication and background tasks:
 * a name, or the text of an unnamed statement, per round trip.
 */
export async function statementsDuring(api: TestApi, work: () => Promise<unknown>): Promise<string[]> {
  const { pool } = api.app.get(Database);
  const seen: string[] = [];
  const watched = new Set<PoolClient>();
  const watch = (client: PoolClient): void => {
    if (watched.has(client)) return;
    watched.add(client);
    const query = client.query.bind(client) as (...values: unknown[]) => unknown;
    client.query = ((...values: unknown[]) => {
      const [statement] = values as [string | { name?: string; text: string }];
      seen.push(typeof statement === 'string' ? statement : (statement.name ?? statement.text));
      return query(...values);
    }) as PoolClient['query'];
  };
  pool.on('acquire', watch);
  try {
    await work();
  } finally {
    pool.off('acquire', watch);
    // Without the own property, the method of the prototype is used again.
    for (const client of watched) Reflect.deleteProperty(client, 'query');
  }
  return seen.filter((name) => !BACKGROUND_STATEMENTS.has(name));
}
