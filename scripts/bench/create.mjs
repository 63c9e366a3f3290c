// `npm run bench -- create`: throughput, p99 and processor time of creating runs beside the floor, on one PostgreSQL, in one
// run, with authentication, validation and the rate limit; then the time from a create's commit to its offer while a slot is free.
import { aim } from './aims.mjs';
import { createsEnvironment, loadCreates, MAIN, measure, startApi, startFloor } from './creates.mjs';
import { inTurns, makeCaller, median, percentile, start, withDatabase } from './support.mjs';

const CONNECTIONS = [10, 50];
const AIMS = { 10: 0.5, 50: 0.6 };
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const OFFERS = Number(process.env.BENCH_OFFERS ?? 30);

export const benchCreate = () =>
  withDatabase(async ({ db, databaseUrl, dataDir, children }) => {
    const token = await makeCaller(db);
    const api = await startApi(createsEnvironment(databaseUrl, dataDir));
    children.push(api.child);
    const floor = await startFloor(db, databaseUrl);
    children.push(floor.child);
    const ratios = {};
    for (const connections of CONNECTIONS) {
      const sides = {
        floor: () => measure(floor.child, () => loadCreates(floor.url, null, connections, SECONDS)),
        headrace: () => measure(api.child, () => loadCreates(api.url, token, connections, SECONDS)),
      };
      const seen = await inTurns(sides, ROUNDS);
      const pairs = seen.headrace.map(({ rate }, index) => rate / seen.floor[index].rate);
      const of = (name, figure) => median(seen[name].map((one) => one[figure]));
      for (const name of ['floor', 'headrace'])
        console.log(
          `${name.padEnd(9)} ${of(name, 'rate').toFixed(0)} creates/s, p99 ${of(name, 'p99').toFixed(0)} ms, ${of(name, 'processorMs').toFixed(2)} ms of processor time a create`,
        );
      ratios[connections] = median(pairs);
      aim(`create: share of the floor, ${connections} connections`, ratios[connections], {
        atLeast: AIMS[connections],
      });
      aim(
        `create: p99 as a multiple of the floor's, ${connections} connections`,
        of('headrace', 'p99') / of('floor', 'p99'),
        {
          atMost: 2,
        },
      );
      console.log(
        `ratio     ${ratios[connections].toFixed(2)} of the floor (from ${Math.min(...pairs).toFixed(2)} to ${Math.max(...pairs).toFixed(2)}; ${pairs.length} pairs of ${SECONDS} s, ${connections} connections)`,
      );
    }

    // Offers: a free slot, one run at a time. What the throughput part queued is taken away first.
    await db.query('TRUNCATE runs, run_events, run_heads, executions CASCADE');
    const processor = await start([MAIN, 'processor'], api.env, /processor is ready/);
    children.push(processor.child);
    const measured = [];
    for (let index = 0; index < OFFERS + 2; index += 1) {
      const created = await fetch(api.url, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ prompt: 'Say hello.' }),
      });
      const { run_id } = await created.json();
      if (index >= 2) measured.push(run_id); // the first ones warm up
      for (let state = ''; !['SUCCEEDED', 'FAILED', 'ERROR'].includes(state);) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        state = (await db.query('SELECT state FROM runs WHERE id = $1', [run_id])).rows[0].state;
      }
    }
    const { rows } = await db.query(
      `SELECT extract(epoch FROM e.offered_at - r.created_at) * 1000 AS ms FROM runs r JOIN executions e ON e.run_id = r.id
      WHERE r.id = ANY($1)`,
      [measured],
    );
    const waits = rows.map(({ ms }) => Number(ms));
    console.log(
      `offer     p50 ${median(waits).toFixed(0)} ms, p95 ${percentile(waits, 0.95).toFixed(0)} ms after the create (${waits.length} runs, a slot free)`,
    );
    return { ratios, offerP50: median(waits) };
  });
