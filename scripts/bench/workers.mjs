// `npm run bench -- workers`: what connected workers cost one API process, and how long a run takes from its create to
// the worker's socket. BENCH_CONNECTIONS says how many there are, BENCH_IDLE_SECONDS how long they only beat.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { dist, freePort, makeCaller, percentile, root, start, stop, withClient } from './support.mjs';

const CONNECTIONS = Number(process.env.BENCH_CONNECTIONS ?? 2_000);
const IDLE_SECONDS = Number(process.env.BENCH_IDLE_SECONDS ?? 60);
const CREATE_SECONDS = Number(process.env.BENCH_CREATE_SECONDS ?? 30);
const CREATES_PER_SECOND = Number(process.env.BENCH_CREATES_PER_SECOND ?? 20);
const HEARTBEAT_SECONDS = 30;
/** Bound of the 99th percentile, milliseconds. */
const BOUND_MS = 250;
const TICKS_PER_SECOND = 100;

export async function benchWorkers() {
  console.log(
    `${availableParallelism()} processors, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}; workers beat every ${HEARTBEAT_SECONDS} s; two API processes, all workers at the first`,
  );
  const few = await benchSize(10, 10);
  const many = await benchSize(CONNECTIONS, IDLE_SECONDS);
  print([few, many]);
  return { few, many };
}

async function benchSize(connections, idleSeconds) {
  const { EmbeddedPostgres } = await dist('libs/platform/embedded-postgres/src/index.js');
  const { parseSettings } = await dist('libs/platform/config/src/index.js');
  const { migrateAll } = await dist('apps/headrace/src/process/migrations.js');
  const dataDir = mkdtempSync(join(tmpdir(), 'headrace-bench-'));
  chmodSync(dataDir, 0o711);
  const postgres = await EmbeddedPostgres.start({ dataDir, log: () => undefined });
  const children = [];
  try {
    await migrateAll(parseSettings({ DATABASE_URL: postgres.url }));
    const token = await withClient(postgres.url, (db) => makeCaller(db, { isServiceAccount: true }));
    const apis = [];
    for (const name of ['first', 'second']) apis.push(await startApi(postgres.url, join(dataDir, name), children));
    const [api] = apis;
    const workers = startWorkers({ origins: apis.map(({ origin }) => origin), token }, children);

    // What is loaded with the first requests is not what connections cost.
    await workers.order({ connect: 1 });
    await workers.order({ create: { perSecond: 20, seconds: 5, workers: 1 } });
    const before = look(api.child.pid);
    const { seconds } = await workers.order({ connect: connections });
    const connected = look(api.child.pid);
    await wait(idleSeconds * 1000);
    const idle = look(api.child.pid);
    const result = await workers.order({
      create: { perSecond: CREATES_PER_SECOND, seconds: CREATE_SECONDS, workers: connections + 1 },
    });
    const busy = look(api.child.pid);
    if (result.lost > 0) throw new Error(`${result.lost} workers lost their connection.`);
    return { connections, connectSeconds: seconds, before, connected, idle, busy, ...result };
  } finally {
    for (const child of children.reverse()) await stop(child);
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function startApi(databaseUrl, dataDir, children) {
  const port = await freePort();
  const env = {
    DATABASE_URL: databaseUrl,
    HEADRACE_DATA_DIR: dataDir,
    SECRETS_KEY: 'the same in both processes, and of no other use',
    PORT: String(port),
    API_RATE_PER_MINUTE: '0',
    LOG_LEVEL: 'warn',
    NODE_ENV: 'production',
  };
  const program = [join(root, 'dist/headrace.cjs'), 'api'];
  const { child } = await start(program, env, /API is ready/);
  children.push(child);
  return { child, origin: `http://127.0.0.1:${port}` };
}

function startWorkers(target, children) {
  const child = spawn(process.execPath, [join(root, 'scripts/bench/workers-client.mjs')], {
    env: {
      PATH: process.env.PATH,
      BENCH_WORKERS: JSON.stringify({ ...target, heartbeatSeconds: HEARTBEAT_SECONDS }),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async order(order) {
      child.stdin.write(`${JSON.stringify(order)}\n`);
      const { value, done } = await answers.next();
      if (done) throw new Error('The workers have ended.');
      return JSON.parse(value);
    },
  };
}

/** Resident memory in MB, and processor time in seconds, of a process. */
function look(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? NaN) / 1024;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return { megabytes, cpu: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND, at: performance.now() };
}

/** Share of one processor between two looks. */
const load = (from, to) => `${((100_000 * (to.cpu - from.cpu)) / (to.at - from.at)).toFixed(1)} %`;

function print(sizes) {
  for (const { connections, connectSeconds, before, connected, idle, busy } of sizes) {
    const most = Math.max(connected.megabytes, idle.megabytes);
    const kilobytes = (1024 * (most - before.megabytes)) / connections;
    console.log(`${connections.toLocaleString('en')} connections, made in ${connectSeconds.toFixed(1)} s`);
    console.log(
      `  memory  ${before.megabytes.toFixed(0)} MB before, ${connected.megabytes.toFixed(0)} MB connected, ${idle.megabytes.toFixed(0)} MB after beating, ${busy.megabytes.toFixed(0)} MB after the runs; at most ${kilobytes.toFixed(0)} KB a connection`,
    );
    console.log(
      `  processor  ${load(connected, idle)} of one while beating, ${load(idle, busy)} at ${CREATES_PER_SECOND} runs a second, half of them created here`,
    );
  }
  console.log('| connections | create at | runs | p50 ms | p99 ms | most ms | p50 of the create alone | |');
  console.log('| ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |');
  for (const { connections, latencies, answers } of sizes) {
    latencies.forEach((values, index) => {
      const [p50, p99] = [percentile(values, 0.5), percentile(values, 0.99)];
      console.log(
        `| ${connections.toLocaleString('en')} | ${index === 0 ? 'the workers’ process' : 'the other process'} | ${values.length} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${Math.max(...values).toFixed(1)} | ${percentile(answers, 0.5).toFixed(1)} | ${p99 < BOUND_MS ? 'within' : 'MISSED'} |`,
      );
    });
  }
}
