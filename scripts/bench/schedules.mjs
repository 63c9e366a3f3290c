// `npm run bench -- schedules`: many schedules that are due in the same minute. How long until all their runs are queued,
// beside the floor (the same rows by one statement each, from as many connections), and what a create through the API takes
// meanwhile, beside what it takes before. Nothing is executed: no slot is free.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { dist, freePort, makeCaller, percentile, root, start, withDatabase } from './support.mjs';

const SCHEDULES = Number(process.env.BENCH_SCHEDULES ?? 100_000);
const TEAMS = Math.max(1, Math.round(SCHEDULES / 200));
const PROCESSORS = Number(process.env.BENCH_PROCESSORS ?? 1);
/** Creates a second, evenly spaced, whatever the answers take. */
const CREATES_PER_SECOND = Number(process.env.BENCH_CREATES ?? 20);
const BEFORE_SECONDS = Number(process.env.BENCH_BEFORE ?? 15);
const AT_ONCE = 8;
const FLOOR_SECONDS = 5;

const MAIN = join(root, 'dist/headrace.cjs');
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const benchSchedules = () =>
  withDatabase(async ({ db, databaseUrl, dataDir, children }) => {
    const floor = await measureFloor(databaseUrl, db);
    const token = await makeCaller(db);
    const port = await freePort();
    const env = {
      DATABASE_URL: databaseUrl,
      HEADRACE_DATA_DIR: join(dataDir, 'data'),
      SECRETS_KEY: randomBytes(24).toString('hex'),
      PORT: String(port),
      API_RATE_PER_MINUTE: '0',
      LOG_LEVEL: 'warn',
      NODE_ENV: 'production',
    };
    children.push((await start([MAIN, 'api'], env, /API is ready/)).child);
    for (let index = 0; index < PROCESSORS; index += 1)
      children.push((await start([MAIN, 'processor'], env, /processor is ready/)).child);
    // What is queued stays queued: executing it is no part of this.
    await db.query(`UPDATE slot_pools SET capacity = 0`);
    const dueAt = await fillSchedules(db);
    const creates = createRuns(`http://127.0.0.1:${port}/api/v1/agent/runs`, token);
    await creates.warmUp();
    const before = await creates.during(async () => {
      await wait(Math.max(BEFORE_SECONDS * 1000, 0));
    });
    await wait(Math.max(0, dueAt.getTime() - Date.now()));
    const during = await creates.during(async () => {
      while (await isDue(db)) await wait(250);
    });
    const { rows } = await db.query(
      `SELECT count(*)::int AS runs, extract(epoch FROM max(created_at) - $1) AS seconds, extract(epoch FROM min(created_at) - $1) AS first
         FROM runs WHERE source = 'SCHEDULED_AGENT'`,
      [dueAt],
    );
    const [{ runs, seconds, first }] = rows;
    if (runs !== SCHEDULES) throw new Error(`${runs} runs were queued for ${SCHEDULES} schedules.`);
    const rate = SCHEDULES / Number(seconds);
    const show = (name, { latencies, failed }) =>
      `${name} p50 ${percentile(latencies, 0.5).toFixed(1)} ms, p99 ${percentile(latencies, 0.99).toFixed(1)} ms, most ${Math.max(...latencies).toFixed(0)} ms (${latencies.length} creates, ${failed} failed)`;
    console.log(
      `${SCHEDULES.toLocaleString('en')} schedules of ${TEAMS} teams, due in the same minute, ${PROCESSORS} processor(s)`,
    );
    console.log(
      `queued    all after ${Number(seconds).toFixed(1)} s, the first after ${Number(first).toFixed(2)} s: ${rate.toFixed(0)}/s, ${(rate / floor).toFixed(2)} of the floor (${floor.toFixed(0)}/s)`,
    );
    console.log(show('before   ', before));
    console.log(show('meanwhile', during));
    console.log(
      `p99 of a create meanwhile is ${(percentile(during.latencies, 0.99) / percentile(before.latencies, 0.99)).toFixed(1)} times that before`,
    );
    return { seconds: Number(seconds), ratio: rate / floor };
  });

/** Schedules that wait for the first minute that leaves time for what comes before it. */
async function fillSchedules(db) {
  await db.query(
    `INSERT INTO teams (uid, name) SELECT lpad(i::text, 22, 'T'), 'team ' || i FROM generate_series(1, $1::int) i`,
    [TEAMS],
  );
  await db.query(
    `INSERT INTO schedules (uid, team_uid, name, cron, timezone, prompt, enabled, mode, overlap_policy, jitter_seconds,
       creator_type, creator_uid, editor_type, editor_uid)
     SELECT lpad(i::text, 22, 'S'), lpad((1 + i % $2)::text, 22, 'T'), 'schedule ' || i, '* * 1 1 *', 'UTC',
       'Look through the issues that were opened since yesterday, and answer what can be answered.', true, 'normal', 'allow', 0,
       'user', lpad('u', 22, 'U'), 'user', lpad('u', 22, 'U') FROM generate_series(1, $1::int) i`,
    [SCHEDULES, TEAMS],
  );
  const dueAt = new Date(Math.ceil((Date.now() + (BEFORE_SECONDS + 8) * 1000) / 60_000) * 60_000);
  await db.query(
    `INSERT INTO timers (kind, key, cron, timezone, jitter_seconds, due_at, fire_at)
     SELECT 'schedule', uid, cron, timezone, 0, $1, $1 FROM schedules`,
    [dueAt],
  );
  await db.query('ANALYZE schedules, timers');
  return dueAt;
}

async function isDue(db) {
  const { rows } = await db.query(
    'SELECT 1 FROM timers WHERE fire_at <= headrace.now() LIMIT 1 FOR KEY SHARE SKIP LOCKED',
  );
  if (rows.length > 0) return true;
  // Those of the last lap are held until it is over.
  return (await db.query('SELECT 1 FROM timers WHERE fire_at <= headrace.now() LIMIT 1')).rows.length > 0;
}

/** Creates at even times: a slow answer does not keep the next one from being sent, so that waits are not left out. */
function createRuns(url, token) {
  const body = JSON.stringify({ prompt: 'Fix the failing test in the parser.', metadata: { ticket: 'T-1' } });
  const create = async (seen) => {
    const from = performance.now();
    const answer = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body,
    });
    await answer.arrayBuffer();
    if (answer.status === 200) seen.latencies.push(performance.now() - from);
    else seen.failed += 1;
  };
  return {
    async warmUp() {
      const seen = { latencies: [], failed: 0 };
      for (let index = 0; index < 300; index += 1) await create(seen);
    },
    async during(work) {
      const seen = { latencies: [], failed: 0 };
      const open = [];
      const timer = setInterval(() => open.push(create(seen)), 1000 / CREATES_PER_SECOND);
      await work();
      clearInterval(timer);
      await Promise.all(open);
      return seen;
    },
  };
}

/** One statement a run, as bare as can be, from as many connections as a processor starts runs from. */
async function measureFloor(connectionString, db) {
  await db.query(`CREATE TABLE bench_floor (id uuid PRIMARY KEY, team_uid text, slot_key text, pool text, state text, title text,
    prompt text, source text, config jsonb, schedule jsonb, created_at timestamptz)`);
  const pool = new pg.Pool({ connectionString, max: AT_ONCE, options: '-c search_path=headrace' });
  const until = performance.now() + FLOOR_SECONDS * 1000;
  let inserted = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (performance.now() < until) {
        await pool.query({
          name: 'floor',
          text: `INSERT INTO bench_floor VALUES (gen_random_uuid(), $1, $2, 'hosted', 'QUEUED', $3, $4, 'SCHEDULED_AGENT', '{}', $5, now())`,
          values: [
            't'.repeat(22),
            `team:${'t'.repeat(22)}`,
            'schedule 4711',
            'Look through the issues that were opened since yesterday, and answer what can be answered.',
            '{"schedule_id":"s","schedule_name":"schedule 4711","cron_schedule":"* * * * *"}',
          ],
        });
        inserted += 1;
      }
    }),
  );
  await pool.end();
  await db.query('DROP TABLE bench_floor');
  return inserted / FLOOR_SECONDS;
}
