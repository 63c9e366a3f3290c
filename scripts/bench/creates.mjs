// Creates of runs under load: what the benches `create`, `compare` and `scale` share.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { freePort, processorMs, root, start } from './support.mjs';

export const MAIN = join(root, 'dist/headrace.cjs');
export const POOL = 16;

const BODY = JSON.stringify({
  prompt: 'Fix the failing test in the parser and explain what was wrong with it.',
  config: { model_id: 'auto' },
  metadata: { ticket: 'T-1' },
});

export const createsEnvironment = (databaseUrl, dataDir) => ({
  DATABASE_URL: databaseUrl,
  HEADRACE_DATA_DIR: join(dataDir, 'data'),
  SECRETS_KEY: randomBytes(24).toString('hex'),
  DATABASE_POOL_SIZE: String(POOL),
  // Counted, but never reached.
  API_RATE_PER_MINUTE: '10000000',
  LOG_LEVEL: 'warn',
  NODE_ENV: 'production',
});

/** `url`: where runs are created. `env`: with its port, at which runners find it. */
export async function startApi(env) {
  const port = await freePort();
  const withPort = { ...env, PORT: String(port) };
  const api = await start([MAIN, 'api'], withPort, /API is ready/);
  return { ...api, env: withPort, url: `http://127.0.0.1:${port}/api/v1/agent/runs` };
}

/** Each connection sends its next request when it has its response. `token` null: without one. */
export const loadCreates = (url, token, connections, seconds) =>
  new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
    autocannon({ url, connections, duration: seconds, method: 'POST', headers, body: BODY }, (error, result) => {
      if (error) reject(error);
      else if (result.non2xx > 0 || result.errors > 0)
        reject(new Error(`${url}: ${result.non2xx} refused, ${result.errors} failed`));
      else {
        const { total } = result.requests;
        resolve({ total, rate: total / result.duration, p99: result.latency.p99 });
      }
    });
  });

/** With the processor time of the process for each request. */
export async function measure(child, send) {
  const before = processorMs(child);
  const result = await send();
  return { ...result, processorMs: (processorMs(child) - before) / result.total };
}

const FLOOR_TABLE = `CREATE TABLE bench_floor (id uuid PRIMARY KEY, team_uid text, owner_user_uid text, slot_key text, pool text, state text,
  title text, prompt text, source text, execution_location text, mode text, interactive boolean, creator_type text, creator_uid text,
  executor_type text, executor_uid text, config jsonb, metadata jsonb, queued_at timestamptz, created_at timestamptz, updated_at timestamptz)`;

/** Starts a program of this directory that prints its port. */
export async function startServer(file, env) {
  const { child, match } = await start([join(root, 'scripts/bench', file)], env, /listening (\d+)/);
  return { child, url: `http://127.0.0.1:${match[1]}/` };
}

/** The server that creates runs with one INSERT and nothing else. */
export async function startFloor(db, databaseUrl) {
  await db.query(FLOOR_TABLE);
  return startServer('floor-server.mjs', { BENCH_FLOOR: JSON.stringify({ databaseUrl, poolSize: POOL }) });
}
