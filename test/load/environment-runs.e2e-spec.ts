import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { LastRuns } from '#domain/environments';
import { newUid } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { type Caller, selectTeams, TokenAuthenticator } from '#platform/auth';
import { startTestApi, type TestApi } from '#testing';
import { fillEnvironment, fillRuns, fillTeams } from '../../scripts/bench/fill-runs.mjs';

/** How PostgreSQL finds the last runs of many environments among many runs, two fifths of them the caller's. */

const RUNS = process.env.HEADRACE_TEST_LONG === '1' ? 50_000 : 15_000;
/** Newest runs of an owner that are looked through. */
const WINDOW = 2000;
const UNUSED = Array.from({ length: 200 }, () => newUid());

let api: TestApi;
let db: pg.Client;

beforeAll(async () => {
  api = await startTestApi();
  db = new pg.Client({ connectionString: api.database.url, options: '-c search_path=headrace,public -c timezone=UTC' });
  await db.connect();
  await fillRuns(db, { runs: RUNS, sentences: 4 });
  await db.query('SET default_statistics_target = 1000; ANALYZE runs; ANALYZE run_facets');
}, 120_000);
afterAll(async () => {
  await db.end();
  await api.close();
});

interface Node {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly Node[];
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];
const rowsOf = (nodes: readonly Node[], index: string): number =>
  nodes
    .filter((node) => node['Index Name'] === index)
    .reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0);

it('reads the newest runs of each owner once, and older runs by their token', async () => {
  const [team = ''] = fillTeams;
  await db.query('INSERT INTO teams (uid, name) VALUES ($1, $2)', [team, 'Big']);
  const { token } = await api.identities.user({ [team]: 'member' });
  const principal = await api.app.get(TokenAuthenticator).authenticate(`Bearer ${token}`);
  const teams = typeof principal === 'string' ? null : selectTeams(principal, undefined);
  if (typeof principal === 'string' || !teams) throw new Error('The token is not accepted.');
  const caller: Caller = { principal, permission: 'runs:read', ...teams };
  const asked = [...Array.from({ length: 120 }, (_, index) => fillEnvironment(index)), ...UNUSED];

  const { pool } = api.app.get(Database);
  const client = await pool.connect();
  const query = vi.spyOn(client, 'query');
  client.release();
  const found = await api.app.get(LastRuns).find(caller, asked);
  const [statement] = query.mock.calls
    .map(([sent]) => sent as unknown as string | { text: string; values: unknown[] })
    .filter((sent) => typeof sent === 'object' && sent.text.includes('run_facets'));
  query.mockRestore();
  if (typeof statement !== 'object') throw new Error('The statement was not seen.');

  const { rows: expected } = await db.query<{ uid: string; id: string }>(
    `SELECT DISTINCT ON (environment_id) environment_id AS uid, id FROM runs
      WHERE team_uid = $1 AND environment_id = ANY($2) ORDER BY environment_id, created_at DESC, id DESC`,
    [team, asked],
  );
  expect(expected.length).toBeGreaterThan(50);
  expect([...found].map(([uid, { id }]) => [uid, id]).sort()).toEqual(expected.map(({ uid, id }) => [uid, id]).sort());

  await db.query('BEGIN; SET LOCAL enable_seqscan = off');
  const { rows } = await db.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
    `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${statement.text}`,
    statement.values,
  );
  await db.query('ROLLBACK');
  const plan = rows[0]?.['QUERY PLAN'][0].Plan;
  const nodes = plan ? nodesOf(plan) : [];
  expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
  expect(new Set(nodes.flatMap((node) => node['Index Name'] ?? []))).toEqual(
    new Set(['ix_runs__created', 'ix_run_facets__tokens', 'runs_pkey']),
  );
  expect(rowsOf(nodes, 'ix_runs__created')).toBe(WINDOW);
  // Of environments without a recent run only: those with one are many times as frequent.
  expect(rowsOf(nodes, 'ix_run_facets__tokens')).toBeLessThan(WINDOW);
});
