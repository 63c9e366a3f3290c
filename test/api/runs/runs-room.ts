import pg, { type PoolClient } from 'pg';
import { expect } from 'vitest';
import type { ErrorCode } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { ObjectStore } from '#platform/storage';
import {
  noteExchange,
  RunBuilder,
  startTestApi,
  type TestApi,
  type TestApiOptions,
  type TestPrincipal,
  type TestRequest,
  type TestResponse,
} from '#testing';

/** An API, two teams, and people on them with every standing that matters to a run. */
export interface RunsRoom {
  readonly api: TestApi;
  readonly runs: RunBuilder;
  readonly team: string;
  readonly otherTeam: string;
  readonly member: TestPrincipal;
  readonly viewer: TestPrincipal;
  /** A member of the other team only. */
  readonly stranger: TestPrincipal;
  close(): Promise<void>;
}

export async function openRunsRoom(options: TestApiOptions = {}): Promise<RunsRoom> {
  const api = await startTestApi(options);
  const { identities } = api;
  const team = await identities.team('Builders');
  const otherTeam = await identities.team('Others');
  return {
    api,
    runs: new RunBuilder(api.database, { objects: api.app.get(ObjectStore) }),
    team,
    otherTeam,
    member: await identities.user({ [team]: 'member' }, 'Mia Member'),
    viewer: await identities.user({ [team]: 'viewer' }, 'Vic Viewer'),
    stranger: await identities.user({ [otherTeam]: 'member' }, 'Sam Stranger'),
    close: () => api.close(),
  };
}

/** A well-formed run id that no run has. */
export const NO_RUN = '01900000-0000-7000-8000-00000000dead';

/** The parts that every problem document has, and nothing on our side that counts as a fault. */
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
export async function answerTo(
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
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

/** Sends all while another session holds `lock`, so that those that need it wait for the same moment. */
export async function allAtOnce<T>(api: TestApi, lock: string, send: () => Promise<T>[]): Promise<T[]> {
  const blocker = new pg.Client({ connectionString: api.database.url });
  await blocker.connect();
  try {
    await blocker.query(`BEGIN; ${lock}`);
    const answers = Promise.all(send());
    // Each of these is answered after the API has read what had arrived before it.
    for (let turn = 0; turn < 20; turn += 1) await api.atOrigin(200, 'GET /health/live');
    await blocker.query('COMMIT');
    return await answers;
  } finally {
    await blocker.end();
  }
}

/** The lock under which a run moves. */
export const lockOfRun = (runId: string): string => `SELECT 1 FROM headrace.runs WHERE id = '${runId}' FOR UPDATE`;

/** Statements that run at any moment: authentication, whose results are cached for a second, and background tasks. */
const BACKGROUND_STATEMENTS = new Set([
  'auth_touch_tokens',
  'auth_find_token',
  'workers_note_reachable',
  'workers_remove_dead',
]);

/**
 * What the API asks its database while `work` goes on, authentication left out: a name, or the text of an unnamed
 * statement, per round trip.
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
    // What was put before the prototype's method goes away again.
    for (const client of watched) Reflect.deleteProperty(client, 'query');
  }
  return seen.filter((name) => !BACKGROUND_STATEMENTS.has(name));
}
