// `npm run bench -- list`: pages of lists through the API beside the same pages by hand-written SQL, on one PostgreSQL,
// in one run, at several sizes. BENCH_RUNS=10000,1000000 says which; BENCH_REQUESTS how often each page is asked for.
// BENCH_TEAM_RUNS=0 leaves out the searches for misspelt words in one large team.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { aim } from './aims.mjs';
import { fillRuns, fillTeams } from './fill-runs.mjs';
import { benchMisspelt } from './list-misspelt.mjs';
import { makeCaller, root, withFilledApi } from './support.mjs';

const SIZES = (process.env.BENCH_RUNS ?? '10000,1000000').split(',').filter(Boolean).map(Number);
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 2000);

export async function benchList() {
  console.log(
    `${availableParallelism()} processors, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}; milliseconds; ${REQUESTS} requests a page and side, one at a time`,
  );
  const measured = [];
  for (const runs of SIZES) measured.push(...(await benchSize(runs)));
  if (measured.length > 0) print(measured);
  await benchMisspelt();
  return measured;
}

function benchSize(runs) {
  const fill = async (db) => {
    await fillRuns(db, { runs, log: (line) => console.error(`  ${line}`) });
    return makeCaller(db, { team: fillTeams[0], isServiceAccount: true });
  };
  return withFilledApi(fill, ({ databaseUrl, port, filled: token }) => measure(runs, { databaseUrl, port, token }));
}

/** Collections of garbage during a page belong to the server that is measured, and not to who measures. */
const CLIENT_FLAGS = [
  '--expose-gc',
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
  '--initial-heap-size=1024',
];

async function measure(runs, target) {
  const client = spawn(process.execPath, [...CLIENT_FLAGS, join(root, 'scripts/bench/list-client.mjs')], {
    env: { PATH: process.env.PATH, BENCH_LIST: JSON.stringify(target), BENCH_REQUESTS: String(REQUESTS) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => client.once('exit', resolve));
  const measured = [];
  for await (const line of createInterface({ input: client.stdout })) {
    const figures = JSON.parse(line);
    measured.push({ runs, ...figures });
    const { name, page, api, floor } = figures;
    console.error(
      `  ${name}, ${page}: api ${api.p50.toFixed(2)} / ${api.p99.toFixed(2)}, floor ${floor.p50.toFixed(2)} / ${floor.p99.toFixed(2)}`,
    );
  }
  const code = await ended;
  if (code !== 0) throw new Error(`The client ended (${code}).`);
  return measured;
}

function print(measured) {
  const ms = (value) => value.toFixed(1);
  console.log('| runs | list | page | API p50 | API p99 | SQL p50 | SQL p99 | bound | |');
  console.log('| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |');
  for (const { runs, name, page: where, api, floor, search } of measured) {
    const bound = 1.5 * floor.p99 + 5;
    const verdict = search ? `ratio ${(api.p50 / floor.p50).toFixed(2)}` : api.p99 < bound ? 'within' : 'MISSED';
    console.log(
      `| ${runs.toLocaleString('en')} | ${name} | ${where} | ${ms(api.p50)} | ${ms(api.p99)} | ${ms(floor.p50)} | ${ms(floor.p99)} | ${search ? '' : ms(bound)} | ${verdict} |`,
    );
  }
  const bounded = measured.filter(({ search }) => !search);
  aim(
    'list: pages within 1.5 × the p99 of the SQL plus 5 ms',
    bounded.filter(({ api, floor }) => api.p99 < 1.5 * floor.p99 + 5).length / bounded.length,
    { atLeast: 1 },
  );
  const missed = measured.filter(({ api, floor, search }) => !search && api.p99 >= 1.5 * floor.p99 + 5);
  console.log(
    `${measured.filter(({ search }) => !search).length - missed.length} within the bound, ${missed.length} missed`,
  );
}
