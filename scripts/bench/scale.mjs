// `npm run bench -- scale`: creates of runs through 1, 2 and 4 API processes. Where there are enough processors, each API process,
// PostgreSQL and the client have separate ones, and the throughput is shown. Everywhere: what a create costs the API, PostgreSQL
// and the disk, which locks it waits for, and where the next limit lies by these figures.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createsEnvironment, loadCreates, startApi } from './creates.mjs';
import { makeCaller, median, processorMs, stop, withDatabase } from './support.mjs';

const PROCESSES = [1, 2, 4];
const CONNECTIONS = 50;
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const SAMPLE_MS = 10;
/** What the model is asked for. */
const MANY_RUNS = 1e8;
const MANY_WORKERS = 1e4;
/** Of a run that is only created; one that was executed has more events. */
const TABLES = ['runs', 'run_facets', 'run_events'];

const kilobytes = (bytes) => `${(bytes / 1024).toFixed(1)} kB`;

/** The processors that the bench may use when it begins. */
const PROCESSORS = /^Cpus_allowed_list:\s*(.*)$/m
  .exec(readFileSync('/proc/self/status', 'utf8'))[1]
  .split(',')
  .flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });

/** Processors of `count` API processes, of PostgreSQL and of the client; null: there are too few. */
function assign(count) {
  const all = PROCESSORS;
  if (all.length < count + 2 || spawnSync('taskset', ['--version']).status !== 0) return null;
  return { apis: all.slice(0, count), client: [all[count]], postgres: all.slice(count + 1) };
}
const pin = (pid, processors) =>
  spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', processors.join(), String(pid)]);

const parentOf = (pid) => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
};

/** The processes of PostgreSQL. */
const postgresPids = async (db) => (await db.query('SELECT pid FROM pg_stat_activity')).rows.map(({ pid }) => pid);
/** Processor time by process, of those that exist. */
const timesOf = (pids) =>
  new Map(pids.filter((pid) => existsSync(`/proc/${pid}`)).map((pid) => [pid, processorMs({ pid })]));
/** Since `before`. Processes of PostgreSQL that work for a short time, such as those of autovacuum, are left out. */
const usedSince = (before) =>
  [...timesOf([...before.keys()])].reduce((sum, [pid, time]) => sum + time - before.get(pid), 0);

/** Samples what the connections of the API wait for until `ended`. Returns the milliseconds by kind. */
async function sampleWaits(db, ended) {
  const waits = {};
  let isEnded = false;
  const stop = ended.finally(() => (isEnded = true));
  for (let last = performance.now(); !isEnded;) {
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
    const { rows } = await db.query(`SELECT wait_event_type AS kind, count(*)::int AS n FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND state = 'active' AND wait_event_type IN ('Lock', 'LWLock', 'IO')
        AND pid <> pg_backend_pid() GROUP BY 1`);
    const now = performance.now();
    for (const { kind, n } of rows) waits[kind] = (waits[kind] ?? 0) + n * (now - last);
    last = now;
  }
  await stop;
  return waits;
}

async function measure({ db, apis, token }) {
  const commits = async () =>
    (await db.query('SELECT xact_commit::float8 AS n FROM pg_stat_database WHERE datname = current_database()')).rows[0]
      .n;
  const position = async () => (await db.query('SELECT pg_current_wal_insert_lsn() AS at')).rows[0].at;
  const before = {
    wal: await position(),
    commits: await commits(),
    postgres: timesOf(await postgresPids(db)),
    apis: timesOf(apis.map(({ child }) => child.pid)),
    client: process.cpuUsage(),
  };
  const connections = Math.ceil(CONNECTIONS / apis.length);
  const running = Promise.all(apis.map(({ url }) => loadCreates(url, token, connections, SECONDS)));
  const waits = await sampleWaits(db, running);
  const results = await running;
  const total = results.reduce((sum, one) => sum + one.total, 0);
  const { user, system } = process.cpuUsage(before.client);
  const { rows } = await db.query('SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1)::float8 AS bytes', [
    before.wal,
  ]);
  return {
    rate: results.reduce((sum, one) => sum + one.rate, 0),
    api: usedSince(before.apis) / total,
    postgres: usedSince(before.postgres) / total,
    client: (user + system) / 1000 / total,
    wal: rows[0].bytes / total,
    // Statements of the API are transactions; those of the samples are few.
    roundTrips: ((await commits()) - before.commits) / total,
    lock: (waits.Lock ?? 0) / total,
    lightweight: (waits.LWLock ?? 0) / total,
    io: (waits.IO ?? 0) / total,
  };
}

export const benchScale = () =>
  withDatabase(async ({ db, databaseUrl, dataDir, children }) => {
    const token = await makeCaller(db);
    const env = createsEnvironment(databaseUrl, dataDir);
    const costs = {};
    for (const count of PROCESSES) {
      pin(process.pid, PROCESSORS);
      const apis = [];
      for (let index = 0; index < count; index += 1) apis.push(await startApi(env));
      children.push(...apis.map(({ child }) => child));
      const places = assign(count);
      if (places !== null) {
        apis.forEach(({ child }, index) => pin(child.pid, [places.apis[index]]));
        pin(process.pid, places.client);
        const pids = await postgresPids(db);
        for (const pid of [parentOf(pids[0]), ...pids]) pin(pid, places.postgres);
      }
      await measure({ db, apis, token }); // warm-up, which opens the connections of the pools
      const rounds = [];
      for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measure({ db, apis, token }));
      const of = (name) => median(rounds.map((one) => one[name]));
      costs[count] = Object.fromEntries(Object.keys(rounds[0]).map((name) => [name, of(name)]));
      const { rate, api, postgres, client, wal, roundTrips, lock, lightweight, io } = costs[count];
      console.log(
        `${count} API process${count === 1 ? ' ' : 'es'}: for each create API ${api.toFixed(2)} ms, PostgreSQL ${postgres.toFixed(2)} ms, client ${client.toFixed(2)} ms, WAL ${kilobytes(wal)}, ${roundTrips.toFixed(2)} round trips; waits: locks ${lock.toFixed(2)} ms, lightweight locks ${lightweight.toFixed(2)} ms, disk ${io.toFixed(2)} ms`,
      );
      console.log(
        places === null
          ? `                 the throughput is not shown: this needs ${count + 2} processors and taskset, and there are ${PROCESSORS.length}`
          : `                 ${rate.toFixed(0)} creates/s, ${(rate / costs[PROCESSES[0]].rate).toFixed(2)} of one process`,
      );
      for (const { child } of apis) await stop(child);
    }
    await printModel(db, costs);
    return costs;
  });

/** Where the next limit lies. With more processes than processors they compete, so the costs are those of one process. */
async function printModel(db, costs) {
  const { rows } = await db.query(
    `SELECT (SELECT count(*) FROM runs)::float8 AS runs, sum(pg_total_relation_size(inhrelid))::float8 AS bytes
       FROM (SELECT c.oid AS inhrelid FROM pg_class c JOIN unnest($1::text[]) AS t (name) ON c.oid = to_regclass(t.name)
             UNION ALL SELECT i.inhrelid FROM pg_inherits i JOIN unnest($1::text[]) AS t (name) ON i.inhparent = to_regclass(t.name)) AS parts`,
    [TABLES],
  );
  const { runs, bytes } = rows[0];
  const { api, postgres, wal } = costs[PROCESSES[0]];
  const perSecond = (ms) => Math.round(1000 / ms);
  console.log(`
Model, by the costs of one API process
  an API process on one processor            ${perSecond(api)} creates/s
  PostgreSQL, for each of its processors     ${perSecond(postgres)} creates/s, as much as ${(api / postgres).toFixed(1)} API processes
  a disk that writes 100 MB/s of WAL         ${Math.round(1e8 / wal)} creates/s
  tables and indexes of ${MANY_RUNS.toExponential(0)} runs             ${(((bytes / runs) * MANY_RUNS) / 1e12).toFixed(2)} TB, ${kilobytes(bytes / runs)} for each
  a run each minute by each of ${MANY_WORKERS} workers  ${Math.round(MANY_WORKERS / 60)} creates/s`);
}
