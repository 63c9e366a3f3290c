// The client of `npm run bench -- list`, in a separate process: the one that filled the database has a heap whose
// collections would show in every figure. Asks the API and PostgreSQL in turns and prints figures as JSON, one line a page.
import { Agent } from 'node:http';
import pg from 'pg';
import { fillCreator, fillEnvironment, fillSkill, fillTeams } from './fill-runs.mjs';
import { dist, getText, percentile } from './support.mjs';

const { databaseUrl, port, token } = JSON.parse(process.env.BENCH_LIST);
const REQUESTS = Number(process.env.BENCH_REQUESTS);
/** Unmeasured requests of each page, and ten times as many at first: a process that was just started is slow. */
const WARM_UP = 100;
const SEARCH_REQUESTS = 10;
/** Beyond that a hand-written search is given up, and counted with that time. */
const SEARCH_LIMIT_MS = 10_000;
const DEEP = 10_000;
const FIRST = { cursor: '', after: null, rows: 0 };
const LIMIT = 20;
const DAY = 86_400_000;

const TEAM = fillTeams[0];
const byUpdated = { sort: 'r.updated_at', type: 'timestamptz', query: 'sort_by=updated_at' };
const byCreated = { sort: 'r.created_at', type: 'timestamptz', query: 'sort_by=created_at' };
const byTitle = {
  sort: '(lower(r.title) COLLATE "C")',
  type: 'text',
  query: 'sort_by=title&sort_order=asc',
  ascending: true,
};
const byAgent = {
  sort: '(left(r.skill_spec, 500) COLLATE "C")',
  type: 'text',
  query: 'sort_by=agent&sort_order=asc',
  ascending: true,
};
const monthAgo = new Date(Date.now() - 30 * DAY).toISOString();

/** What is asked for, and how somebody who knows the tables asks for just that; `$1` is the owner, then `values`. */
const PAIRS = [
  { name: 'all × updated_at', by: byUpdated },
  { name: 'all × created_at', by: byCreated },
  { name: 'all × title', by: byTitle },
  { name: 'all × agent', by: byAgent, where: `${byAgent.sort} IS NOT NULL` },
  {
    name: 'state FAILED × updated_at',
    by: byUpdated,
    filter: 'state=FAILED',
    where: 'r.state = $2',
    values: ['FAILED'],
  },
  {
    name: 'states FAILED, ERROR × created_at',
    by: byCreated,
    filter: 'state=FAILED&state=ERROR',
    where: `r.state IN ('FAILED', 'ERROR')`,
  },
  {
    name: 'creator × updated_at',
    by: byUpdated,
    filter: `creator=${fillCreator(0, 2)}`,
    where: 'r.creator_uid = $2',
    values: [fillCreator(0, 2)],
  },
  {
    name: 'skill_spec × updated_at',
    by: byUpdated,
    filter: `skill_spec=${encodeURIComponent(fillSkill(0))}`,
    where: 'r.skill_spec = $2',
    values: [fillSkill(0)],
  },
  {
    name: 'environment_id × created_at',
    by: byCreated,
    filter: `environment_id=${fillEnvironment(0)}`,
    where: 'r.environment_id = $2',
    values: [fillEnvironment(0)],
  },
  {
    name: 'metadata × updated_at',
    by: byUpdated,
    filter: 'metadata[area]=area-3',
    where: 'r.metadata @> $2',
    values: ['{"area":"area-3"}'],
  },
  {
    name: 'created_after × created_at',
    by: byCreated,
    filter: `created_after=${monthAgo}`,
    where: 'r.created_at >= $2',
    values: [monthAgo],
  },
  {
    name: 'artifact_type PLAN × updated_at',
    by: byUpdated,
    filter: 'artifact_type=PLAN',
    where: `EXISTS (SELECT FROM artifacts x WHERE x.run_id = r.id AND x.artifact_type = 'PLAN')`,
  },
];
const text = (name, words, condition) => ({
  name: `q “${words}”`,
  by: byUpdated,
  filter: `q=${encodeURIComponent(words)}`,
  join: 'JOIN run_facets f ON f.run_id = r.id AND f.slot_key = r.slot_key',
  where: condition,
  search: true,
});
const SEARCHES = [
  text('frequent', 'deploy webhook', `f.search LIKE '%deploy%' AND f.search LIKE '%webhook%'`),
  text('rare', 'task-4711', `f.search LIKE '%task-4711%'`),
  // Taken for “typecheck”, as trigrams and the server do each in their way.
  text('misspelt', 'typechekc', `'typechekc' <% f.search`),
];

const db = new pg.Client({ connectionString: databaseUrl, options: '-c search_path=headrace,public -c timezone=UTC' });
await db.connect();
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const ask = (query) => getText(agent, `http://127.0.0.1:${port}/api/v1/agent/runs?${query}`, token);
const floor = await floorOf(db);
await db.query(`SET statement_timeout = ${SEARCH_LIMIT_MS}`);
for (let round = 0; round < 10 * WARM_UP; round += 1) {
  const query = `${queryOf(PAIRS[round % PAIRS.length])}&limit=${LIMIT}`;
  const { page_info } = JSON.parse(await ask(query));
  // Cursors too take a way through the program that is slow at first.
  if (page_info.has_next_page) await ask(`${query}&cursor=${encodeURIComponent(page_info.next_cursor)}`);
}
for (const pair of [...PAIRS, ...SEARCHES]) {
  for (const depth of pair.search ? [0] : [0, DEEP]) {
    const figures = await measure(pair, depth, ask, floor);
    if (figures) process.stdout.write(`${JSON.stringify(figures)}\n`);
  }
}
agent.destroy();
await db.end();

/** Hand-written: one prepared statement a pair and page, all columns that a list shows. */
async function floorOf(db) {
  const { RUN_COLUMNS, LIVE_EXECUTION_JOIN } = await dist('libs/domain/runs/src/persistence/runs.store.js');
  return (pair, after) => {
    const { by, where, values = [], join = '' } = pair;
    const [compare, direction] = by.ascending ? ['>', 'ASC'] : ['<', 'DESC'];
    const bound = [`team:${TEAM}`, ...values];
    const conditions = ['r.slot_key = $1', ...(where ? [where] : [])];
    if (after) {
      conditions.push(`(${by.sort}, r.id) ${compare} ($${bound.length + 1}::${by.type}, $${bound.length + 2}::uuid)`);
      bound.push(...after);
    }
    const statement = {
      name: `floor ${pair.name} ${after ? 'deep' : 'first'}`,
      // The columns are looked up for the rows of the page only.
      text: `SELECT ${RUN_COLUMNS}, left(r.prompt, 2048) AS prompt, p.sort::text AS sort_text
        FROM (SELECT r.id, ${by.sort} AS sort FROM runs r ${join} WHERE ${conditions.join(' AND ')}
               ORDER BY ${by.sort} ${direction}, r.id ${direction} LIMIT ${LIMIT + 1}) p
        JOIN runs r ON r.id = p.id ${LIVE_EXECUTION_JOIN} ORDER BY p.sort ${direction}, r.id ${direction}`,
      values: bound,
    };
    return async () => {
      try {
        return (await db.query(statement)).rows;
      } catch (error) {
        if (pair.search && error.code === '57014') return [];
        throw error;
      }
    };
  };
}

function queryOf({ by, filter }) {
  return filter ? `${by.query}&${filter}` : by.query;
}

async function measure(pair, depth, ask, floor) {
  const query = queryOf(pair);
  const place = depth === 0 ? FIRST : await walkTo(depth, query, pair, ask, floor);
  if (!place) return null;
  const { cursor, after, rows } = place;
  const sides = { api: () => ask(`${query}&limit=${LIMIT}${cursor}`), floor: floor(pair, after) };
  if (!pair.search) await assertSame(pair, sides);
  const seen = { api: [], floor: [] };
  globalThis.gc();
  const [warmUp, requests] = pair.search ? [0, SEARCH_REQUESTS] : [WARM_UP, REQUESTS];
  for (let round = 0; round < warmUp; round += 1) for (const side of Object.values(sides)) await side();
  while (seen.api.length < requests) {
    for (const name of ['api', 'floor', 'floor', 'api']) {
      const started = performance.now();
      await sides[name]();
      seen[name].push(performance.now() - started);
    }
  }
  const figures = (values) => ({ p50: percentile(values, 0.5), p99: percentile(values, 0.99) });
  const result = {
    name: pair.name,
    page: depth === 0 ? 'first' : `${rows} deep`,
    api: figures(seen.api),
    floor: figures(seen.floor),
    search: pair.search,
  };
  return result;
}

/** Figures of two different pages would say nothing. */
async function assertSame(pair, sides) {
  const ours = JSON.parse(await sides.api()).runs.map(({ run_id }) => run_id);
  const theirs = (await sides.floor()).slice(0, LIMIT).map(({ id }) => id);
  if (ours.join() !== theirs.join()) throw new Error(`${pair.name}: the two pages differ:\n${ours}\n${theirs}`);
}

/** By the API's own cursors, down to `depth` rows or to a quarter of a shorter list; null where that is the first page. */
async function walkTo(depth, query, pair, ask, floor) {
  const cursors = [];
  let [cursor, rows] = ['', 0];
  for (; rows < depth;) {
    const { runs, page_info } = JSON.parse(await ask(`${query}&limit=500${cursor}`));
    if (!page_info.has_next_page) break;
    rows += runs.length;
    cursor = `&cursor=${encodeURIComponent(page_info.next_cursor)}`;
    cursors.push({ cursor, rows, last: runs.at(-1).run_id });
  }
  const place = rows >= depth ? cursors.at(-1) : cursors[cursors.length >> 2];
  if (!place) return null;
  const [{ sort_text }] = await floor(
    { ...pair, name: `${pair.name} place`, where: `r.id = '${place.last}'`, values: [] },
    null,
  )();
  return { cursor: place.cursor, after: [sort_text, place.last], rows: place.rows };
}
