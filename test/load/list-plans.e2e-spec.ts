import pg, { type PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LastRuns } from '#domain/environments';
import { type Caller, selectTeams, TokenAuthenticator } from '#platform/auth';
import { newUid } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { fillCreator, fillEnvironment, fillRuns, fillSkill, fillTeams } from '../../scripts/bench/fill-runs.mjs';
import { isLong } from '../support/long-tests.js';

/*
 * How PostgreSQL executes the statements that the API sends for a page, at 50,000 runs: which indexes are read, how many
 * rows of them, and what is sorted. The statements are those of real requests, caught on their way to the database.
 */

const RUNS = 50_000;
const PAGE = 21;
/** The team and the person. */
const OWNERS = 2;
/** Runs that a walk along the order looks at before it gives up. */
const WINDOW = 5000;
/** Newest runs of an owner in which the last run of each environment is searched. */
const NEWEST = 2000;

/** Query, and the index that its pages are read from, in order. */
const PAIRS = {
  'all × updated_at': ['sort_by=updated_at', 'ix_runs__updated'],
  'all × created_at': ['sort_by=created_at', 'ix_runs__created'],
  'all × title': ['sort_by=title&sort_order=asc', 'ix_runs__title'],
  'all × agent': ['sort_by=agent&sort_order=asc', 'ix_runs__agent'],
  'state × updated_at': ['state=FAILED', 'ix_runs__state'],
  'states × created_at': ['sort_by=created_at&state=FAILED&state=ERROR', 'ix_runs__created'],
  'creator × updated_at': [`creator=${fillCreator(0, 2)}`, 'ix_runs__updated'],
  'skill_spec × updated_at': [`skill_spec=${encodeURIComponent(fillSkill(0))}`, 'ix_runs__updated'],
  'environment_id × created_at': [`sort_by=created_at&environment_id=${fillEnvironment(0)}`, 'ix_runs__created'],
  'metadata × updated_at': ['metadata[area]=area-3', 'ix_runs__updated'],
  'created_after × created_at': ['sort_by=created_at&created_after=2020-01-01T00:00:00Z', 'ix_runs__created'],
  'artifact_type × updated_at': ['artifact_type=PLAN', 'ix_runs__updated'],
} as const;
/** Too rare for a walk: an inverted index answers, and all matches are sorted, which are few. */
const RARE = {
  'metadata × updated_at': ['metadata[ticket]=T-1235', 'ix_run_facets__tokens'],
  'skill_spec × created_at': [
    `sort_by=created_at&skill_spec=${encodeURIComponent(fillSkill(190))}`,
    'ix_run_facets__tokens',
  ],
  'q × updated_at': ['q=task-1234', 'ix_run_facets__search'],
} as const;

let api: TestApi;
let db: pg.Client;
let who: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  db = new pg.Client({ connectionString: api.database.url, options: '-c search_path=headrace,public -c timezone=UTC' });
  await db.connect();
  await fillRuns(db, { runs: RUNS, sentences: 4 });
  // From all rows and not from a sample of them, so that plans do not depend on luck.
  await db.query('SET default_statistics_target = 1000; ANALYZE runs; ANALYZE run_facets');
  const [team = ''] = fillTeams;
  await db.query('INSERT INTO teams (uid, name) VALUES ($1, $2)', [team, 'Big']);
  who = await api.identities.user({ [team]: 'member' });
}, 120_000);
afterAll(async () => {
  await db.end();
  await api.close();
});

interface Sent {
  readonly text: string;
  readonly values?: unknown[];
}

interface Page {
  readonly sent: Sent;
  /** How its transaction was begun, with the settings that it was planned under. */
  readonly begin: string;
}

/** The last statement of a list that a request sends. */
async function statementOf(query: string): Promise<Page> {
  const { pool } = api.app.get(Database);
  const seen: Page[] = [];
  let begin = 'BEGIN';
  const watched = new Set<PoolClient>();
  const watch = (client: PoolClient): void => {
    if (watched.has(client)) return;
    watched.add(client);
    const send = client.query.bind(client) as (...values: unknown[]) => unknown;
    client.query = ((...values: unknown[]) => {
      const [sent] = values;
      if (typeof sent === 'object') seen.push({ sent: sent as Sent, begin });
      else if (typeof sent === 'string' && /^(BEGIN|ROLLBACK)/.test(sent)) begin = sent.replace('ROLLBACK', 'BEGIN');
      return send(...values);
    }) as PoolClient['query'];
  };
  pool.on('acquire', watch);
  try {
    await api.request(200, `GET /agent/runs?${query}`, { token: who.token });
    const page = seen.filter(({ sent: { text } }) => text.includes('FROM page JOIN runs')).at(-1);
    if (!page) throw new Error('The request has read no page.');
    return page;
  } finally {
    pool.off('acquire', watch);
    for (const client of watched) Reflect.deleteProperty(client, 'query');
  }
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

interface Facts {
  /** Indexes of lists that were read, each once, and those that were read from one end on. */
  readonly indexes: readonly string[];
  readonly inOrder: readonly string[];
  readonly sequential: readonly string[];
  /** Rows that went into a sort, the largest. */
  readonly sorted: number;
  /** Rows of `runs` that were looked at. */
  readonly looked: number;
}

/** Not those that only complete the rows of the page. */
const OF_LISTS = /^ix_(runs|run_facets)__/;

const textOf = (value: unknown): string => (Array.isArray(value) ? `{${value.join(',')}}` : String(value));

/** Only what was executed: a plan holds both ways of a search, and the second one mostly does not run. */
async function factsOf({ sent, begin }: Page): Promise<Facts> {
  await db.query(begin);
  // Executed and not sent with its values: that is how a plan that does not know them comes about.
  await db.query(`PREPARE page AS ${sent.text}`);
  const values = (sent.values ?? []).map((value) => db.escapeLiteral(textOf(value))).join(', ');
  const { rows } = await db.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
    `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) EXECUTE page${values === '' ? '' : `(${values})`}`,
  );
  await db.query('DEALLOCATE page; ROLLBACK');
  const nodes: PlanNode[] = [];
  const collect = (node: PlanNode): void => {
    if (node['Actual Loops'] === 0) return;
    nodes.push(node);
    node.Plans?.forEach(collect);
  };
  rows[0]?.['QUERY PLAN'].forEach(({ Plan }) => collect(Plan));
  // Which index a scope without a run is walked by is the planner's business: any finds nothing at once.
  const read = nodes.filter(
    (node) =>
      OF_LISTS.test(node['Index Name'] ?? '') &&
      (!/^Index/.test(node['Node Type']) || node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) > 0),
  );
  const ofRuns = nodes.filter((node) => node['Relation Name'] === 'runs');
  return {
    indexes: [...new Set(read.map((node) => node['Index Name'] ?? ''))].sort(),
    inOrder: [
      ...new Set(read.filter(({ 'Node Type': type }) => /^Index/.test(type)).map((node) => node['Index Name'] ?? '')),
    ].sort(),
    sequential: nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name'] ?? ''),
    sorted: Math.max(
      0,
      ...nodes.filter((node) => /Sort$/.test(node['Node Type'])).map((node) => node.Plans?.[0]?.['Actual Rows'] ?? 0),
    ),
    looked: ofRuns.reduce(
      (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      0,
    ),
  };
}

/** The cursor behind the first page of 500 runs that `isThere` accepts. */
async function cursorBehind(
  query: string,
  isThere: (runs: readonly RunItem[], page: number) => boolean,
): Promise<string> {
  let cursor: string | undefined;
  for (let page = 1; ; page += 1) {
    const place = cursor === undefined ? '' : `&cursor=${cursor}`;
    const { body } = await api.request(200, `GET /agent/runs?${query}&limit=500${place}`, { token: who.token });
    if (!body.page_info.has_next_page) break;
    cursor = encodeURIComponent(body.page_info.next_cursor as string);
    if (isThere(body.runs as RunItem[], page)) return cursor;
  }
  if (cursor === undefined) throw new Error('The list is one page long.');
  return cursor;
}

interface RunItem {
  readonly agent_config: { readonly skill_spec?: string };
}

/** Some thousand rows down. */
const deepCursor = (query: string): Promise<string> => cursorBehind(query, (_runs, page) => page === 4);

describe.runIf(isLong)(`plans at ${RUNS} runs`, { timeout: 60_000 }, () => {
  it.each(Object.entries(PAIRS))(
    'reads the first page and a deep page from one index (%s)',
    async (_name, [query, index]) => {
      const first = await factsOf(await statementOf(query));
      const cursor = await deepCursor(query);
      const deep = await factsOf(await statementOf(`${query}&cursor=${cursor}`));
      for (const facts of [first, deep]) {
        expect(facts.inOrder).toEqual([index]);
        expect(facts.indexes).toEqual([index]);
        expect(facts.sequential).not.toContain('runs');
        expect(facts.sorted).toBeLessThanOrEqual(PAGE * OWNERS);
        expect(facts.looked).toBeLessThanOrEqual(WINDOW + 2 * PAGE * OWNERS);
      }
    },
  );

  it.each(['asc', 'desc'])('reads runs without a skill from the index of skills (all × agent, %s)', async (order) => {
    const query = `sort_by=agent&sort_order=${order}`;
    const cursor = await cursorBehind(query, (runs) => runs.at(-1)?.agent_config.skill_spec === undefined);
    const facts = await factsOf(await statementOf(`${query}&cursor=${cursor}`));
    expect(facts.inOrder).toEqual(['ix_runs__agent']);
    expect(facts.sequential).not.toContain('runs');
    expect(facts.looked).toBeLessThanOrEqual(3 * PAGE * OWNERS);
  });

  it.each(Object.entries(RARE))(
    'reads the matches of a rare filter from an inverted index (%s)',
    async (_name, [query, index]) => {
      const facts = await factsOf(await statementOf(query));
      expect(facts.indexes).toContain(index);
      expect(facts.sequential).toEqual([]);
      expect(facts.looked).toBeLessThanOrEqual(3 * WINDOW);
    },
  );
});

it.runIf(isLong)(
  'finds the last runs of many environments: reads the newest runs of each owner once, and older runs by their token',
  async () => {
    const [team = ''] = fillTeams;
    const unused = Array.from({ length: 200 }, () => newUid());
    const principal = await api.app.get(TokenAuthenticator).authenticate(`Bearer ${who.token}`);
    const teams = typeof principal === 'string' ? null : selectTeams(principal, undefined);
    if (typeof principal === 'string' || !teams) throw new Error('The token is not accepted.');
    const caller: Caller = { principal, permission: 'runs:read', ...teams };
    const asked = [...Array.from({ length: 120 }, (_, index) => fillEnvironment(index)), ...unused];

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
    expect([...found].map(([uid, { id }]) => [uid, id]).sort()).toEqual(
      expected.map(({ uid, id }) => [uid, id]).sort(),
    );

    await db.query('BEGIN; SET LOCAL enable_seqscan = off');
    const { rows } = await db.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${statement.text}`,
      statement.values,
    );
    await db.query('ROLLBACK');
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    const nodes = plan ? nodesOf(plan) : [];
    const rowsOf = (index: string): number =>
      nodes
        .filter((node) => node['Index Name'] === index)
        .reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0);
    expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    expect(new Set(nodes.flatMap((node) => node['Index Name'] ?? []))).toEqual(
      new Set(['ix_runs__created', 'ix_run_facets__tokens', 'runs_pkey']),
    );
    expect(rowsOf('ix_runs__created')).toBe(NEWEST);
    // Of environments without a recent run only: those with one are many times as frequent.
    expect(rowsOf('ix_run_facets__tokens')).toBeLessThan(NEWEST);
  },
);
