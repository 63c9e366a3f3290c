// `npm run bench -- placement`: what a placement costs with a long backlog of one team, and how soon another team's run
// starts after a slot has become free. BENCH_QUEUED says how long the backlog is, BENCH_OWNERS how many others wait, too.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { dist, freePort, makeCaller, median, percentile, root, start, withDatabase } from './support.mjs';

const QUEUED = Number(process.env.BENCH_QUEUED ?? 20_000);
const OWNERS = Number(process.env.BENCH_OWNERS ?? 2_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 200);
const STARTS = Number(process.env.BENCH_STARTS ?? 10);
const SLOTS = 4;
/** Bounds, in milliseconds. */
const PLACE_BOUND = 5;
const START_BOUND = 1000;

export const benchPlacement = () =>
  withDatabase(async ({ db, databaseUrl, dataDir, children }) => {
    const results = [
      { name: `${ROUNDS} runs of one team`, ...(await placements(db, { backlog: 0, owners: 0 })) },
      {
        name: `${QUEUED.toLocaleString('en')} runs of one team`,
        ...(await placements(db, { backlog: QUEUED, owners: 0 })),
      },
      {
        name: `and ${OWNERS.toLocaleString('en')} other owners`,
        ...(await placements(db, { backlog: QUEUED, owners: OWNERS })),
      },
    ];
    for (const { name, times } of results)
      console.log(
        `place     ${name.padEnd(28)} p50 ${median(times).toFixed(2)} ms, p99 ${percentile(times, 0.99).toFixed(2)} ms (${times.length} freed slots)`,
      );
    console.log(`floor     ${'an UPDATE of one row'.padEnd(28)} p50 ${median(await floor(db)).toFixed(2)} ms`);
    const longest = results[1].times;
    console.log(
      `          ${median(longest) < PLACE_BOUND ? 'within' : 'MISSED'}: p50 below ${PLACE_BOUND} ms with the backlog`,
    );
    const waits = await starts(db, databaseUrl, dataDir, children);
    for (const [name, values] of Object.entries(waits))
      console.log(`${name.padEnd(9)} p50 ${median(values).toFixed(0)} ms, most ${Math.max(...values).toFixed(0)} ms`);
    console.log(
      `          ${Math.max(...waits.started) < START_BOUND ? 'within' : 'MISSED'}: another team's run starts within ${START_BOUND} ms of the next free slot (${STARTS} runs, ${QUEUED.toLocaleString('en')} of one team queued)`,
    );
    return { placeP50: median(longest), started: Math.max(...waits.started) };
  });

/** The least that a statement which writes can cost here: most of it is the commit. */
async function floor(db) {
  const times = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const from = performance.now();
    await db.query({ name: 'floor', text: `UPDATE slot_pools SET turn = turn + 1 WHERE key = 'pool:hosted'` });
    times.push(performance.now() - from);
  }
  return times;
}

/** Round trips of place_executions, each with one slot free. */
async function placements(db, { backlog, owners }) {
  await db.query('TRUNCATE runs, executions, slot_pools CASCADE');
  await queue(db, 'backlog', backlog + ROUNDS);
  if (owners > 0) await queue(db, 'other', ROUNDS, owners);
  await db.query('ANALYZE');
  await db.query(`INSERT INTO slot_pools (key, used, capacity) VALUES ('pool:hosted', 0, $1)`, [SLOTS]);
  const place = {
    name: 'place',
    text: `SELECT execution_id FROM place_executions(ARRAY['hosted'], ARRAY[NULL], 20, $1, 60000, 'bench')`,
  };
  const running = (await db.query({ ...place, values: [SLOTS] })).rows.map(({ execution_id: id }) => id);
  const times = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await end(db, running.shift());
    const from = performance.now();
    const { rows } = await db.query({ ...place, values: [SLOTS] });
    times.push(performance.now() - from);
    running.push(...rows.map(({ execution_id: id }) => id));
  }
  return { times: times.slice(10) };
}

async function end(db, executionId) {
  await db.query('SELECT release_slot($1)', [executionId]);
  await db.query(`UPDATE executions SET phase = 'ended', ended_at = headrace.now() WHERE id = $1`, [executionId]);
}

/** Queued runs of one team, or, with `owners`, of users who have two or so each. */
const queue = (db, team, count, owners) =>
  db.query(
    `INSERT INTO runs (id, team_uid, owner_user_uid, slot_key, pool, state, title, prompt, source, execution_location, mode, interactive,
       creator_type, creator_uid, executor_type, executor_uid, config, queued_at, created_at, updated_at)
     SELECT gen_random_uuid(), CASE WHEN $3::int IS NULL THEN $1 END, CASE WHEN $3::int IS NOT NULL THEN $1 || (i % $3) END,
       CASE WHEN $3::int IS NULL THEN 'team:' || $1 ELSE 'user:' || $1 || (i % $3) END, 'hosted', 'QUEUED', 'bench', $4, 'API',
       'REMOTE', 'normal', false, 'user', 'u', 'user', 'u', '{}', headrace.now() - interval '1 hour' + i * interval '1 ms',
       headrace.now(), headrace.now()
       FROM generate_series(1, greatest($2::int, 2 * coalesce($3::int, 0))) i`,
    [team, count, owners ?? null, '```sh\nsleep 2\n```'],
  );

/** Milliseconds from the slot that became free next until another team's run was offered, and its agent started. */
async function starts(db, databaseUrl, dataDir, children) {
  await db.query('TRUNCATE runs, executions, slot_pools CASCADE');
  const token = await makeCaller(db);
  const team = randomBytes(11).toString('hex');
  await db.query('INSERT INTO teams (uid, name) VALUES ($1, $1)', [team]);
  await queue(db, team, QUEUED);
  const port = await freePort();
  const env = {
    DATABASE_URL: databaseUrl,
    HEADRACE_DATA_DIR: join(dataDir, 'data'),
    SECRETS_KEY: randomBytes(24).toString('hex'),
    PORT: String(port),
    MAX_CONCURRENT_RUNS: '2',
    // The backlog fills the pool: the other team has to get the slot that becomes free next.
    MAX_CONCURRENT_RUNS_PER_TEAM: '2',
    API_RATE_PER_MINUTE: '0',
    LOG_LEVEL: 'error',
    NODE_ENV: 'production',
  };
  const main = join(root, 'dist/headrace.cjs');
  children.push((await start([main, 'api'], env, /API is ready/)).child);
  children.push((await start([main, 'processor'], env, /processor is ready/)).child);
  const offered = [];
  const started = [];
  for (let index = 0; index <= STARTS; index += 1) {
    const created = await fetch(`http://127.0.0.1:${port}/api/v1/agent/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ prompt: 'Say hello.' }),
    });
    const { run_id: runId } = await created.json();
    let state = '';
    while (!['SUCCEEDED', 'FAILED', 'ERROR'].includes(state)) {
      await wait(50);
      state = (await db.query('SELECT state FROM runs WHERE id = $1', [runId])).rows[0].state;
    }
    const { rows } = await db.query(
      `SELECT extract(epoch FROM e.offered_at - freed.at) * 1000 AS offered, extract(epoch FROM r.started_at - freed.at) * 1000 AS started
         FROM runs r JOIN executions e ON e.run_id = r.id
           CROSS JOIN LATERAL (SELECT max(coalesce(b.idle_since, b.ended_at)) AS at FROM executions b
             WHERE b.run_id <> r.id AND coalesce(b.idle_since, b.ended_at) BETWEEN r.created_at AND e.offered_at) freed
        WHERE r.id = $1`,
      [runId],
    );
    // The first one warms up; where a slot was free at once there is nothing to measure.
    if (index === 0 || rows[0].offered === null) continue;
    offered.push(Number(rows[0].offered));
    started.push(Number(rows[0].started));
  }
  return { offered, started };
}
