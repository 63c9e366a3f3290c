// `npm run bench -- list`: pages of lists through the API beside the same pages by hand-written SQL, on one PostgreSQL,
// in one run, at several sizes. BENCH_RUNS=10000,1000000 says which; BENCH_REQUESTS how often each page is asked for.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { fillRuns, fillTeams } from './fill-runs.mjs';
import { dist, freePort, makeCaller, root, start, stop } from './support.mjs';
import { SERVER_FLAGS } from '../lib/server-flags.mjs';

const SIZES = (process.env.BENCH_RUNS ?? '10000,1000000').split(',').map(Number);
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 2000);

export async function benchList() {
  console.log(
    `${availableParallelism()} processors, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}; milliseconds; ${REQUESTS} requests a page and side, one at a time`,
  );
  const measured = [];
  for (const runs of SIZES) measured.push(...(await benchSize(runs)));
  print(measured);
  return measured;
}

async function benchSize(runs) {
  const { EmbeddedPostgres } = await dist('libs/platform/embedded-postgres/src/index.js');
  const { parseSettings } = await dist('libs/platform/config/src/index.js');
  const { migrateAll } = await dist('apps/headrace/src/process/migrations.js');
  const dataDir = mkdtempSync(join(tmpdir(), 'headrace-bench-'));
  chmodSync(dataDir, 0o711);
  const startPostgres = () => EmbeddedPostgres.start({ dataDir, log: () => undefined });
  let postgres = await startPostgres();
  let api = null;
  try {
    await migrateAll(parseSettings({ DATABASE_URL: postgres.url }));
    const token = await withClient(postgres.url, async (db) => {
      await fillRuns(db, { runs, log: (line) => console.error(`  ${line}`) });
      return makeCaller(db, fillTeams[0]);
    });
    // What was filled is written out by that, and not while pages are measured.
    await postgres.stop();
    postgres = await startPostgres();
    const port = await freePort();
    const env = {
      DATABASE_URL: postgres.url,
      HEADRACE_DATA_DIR: join(dataDir, 'data'),
      SECRETS_KEY: randomBytes(24).toString('hex'),
      PORT: String(port),
      API_RATE_PER_MINUTE: '0',
      LOG_LEVEL: 'warn',
      NODE_ENV: 'production',
    };
    api = await start([...SERVER_FLAGS, join(root, 'dist/headrace.js'), 'api'], env, /API is ready/);
    return await measure(runs, { databaseUrl: postgres.url, port, token });
  } finally {
    if (api) await stop(api.child);
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function withClient(connectionString, work) {
  const db = new pg.Client({ connectionString, options: '-c search_path=headrace,public -c timezone=UTC' });
  await db.connect();
  try {
    return await work(db);
  } finally {
    await db.end();
  }
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
  const missed = measured.filter(({ api, floor, search }) => !search && api.p99 >= 1.5 * floor.p99 + 5);
  console.log(
    `${measured.filter(({ search }) => !search).length - missed.length} within the bound, ${missed.length} missed`,
  );
}
