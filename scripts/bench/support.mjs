// What the benches share: programs, a caller, and figures.
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import pg from 'pg';

export const root = fileURLToPath(new URL('../../', import.meta.url));
export const dist = (path) => import(pathToFileURL(join(root, 'dist', path)).href);

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
export const percentile = (values, share) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))];

/**
 * Executes each side once, and then measures them in rounds: in one order, then in the reverse one. Returns the results of each side,
 * in their order.
 */
export async function inTurns(sides, rounds) {
  const names = Object.keys(sides);
  for (const name of names) await sides[name]();
  const seen = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? names : names.toReversed();
    for (const name of [...order, ...order.toReversed()]) seen[name].push(await sides[name]());
  }
  return seen;
}

export const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Starts a program of ours; resolves when its output matches `ready`. */
export function start(args, env, ready) {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      const match = ready.exec(output);
      if (match) resolve({ child, match });
    });
    child.once('exit', (code) => reject(new Error(`${args.join(' ')} ended (${code}):\n${output}`)));
  });
}

export const stop = (child) =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.removeAllListeners('exit');
    child.once('exit', resolve);
    child.kill('SIGTERM');
  });

/** Processor time that a child process has used, in milliseconds. Linux counts it in hundredths of a second. */
export function processorMs({ pid }) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, in parentheses, may contain spaces.
  const [, , , , , , , , , , , user, system] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(user) + Number(system)) * 10;
}

/** Runs `work` with a new, migrated database and a directory; stops the programs that it adds to `children` afterwards. */
export async function withDatabase(work) {
  const { EmbeddedPostgres } = await dist('libs/platform/embedded-postgres/src/index.js');
  const { parseSettings } = await dist('libs/platform/config/src/index.js');
  const { migrateAll } = await dist('apps/headrace/src/process/migrations.js');
  const dataDir = mkdtempSync(join(tmpdir(), 'headrace-bench-'));
  chmodSync(dataDir, 0o711);
  const postgres = await EmbeddedPostgres.start({ dataDir, log: () => undefined });
  const databaseUrl = postgres.url;
  const db = new pg.Client({ connectionString: databaseUrl, options: '-c search_path=headrace,public' });
  const children = [];
  try {
    await migrateAll(parseSettings({ DATABASE_URL: databaseUrl }));
    await db.connect();
    return await work({ db, databaseUrl, dataDir, children });
  } finally {
    for (const child of children.reverse()) await stop(child);
    await db.end();
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Returns a token: of a service account of the team with this uid, or of a member of it. Creates the team, by default a new one. */
export async function makeCaller(db, { team = randomUid(), isServiceAccount = false } = {}) {
  const token = `hr_${randomBytes(43).toString('hex').slice(0, 43)}`;
  const principal = randomUid();
  await db.query('INSERT INTO teams (uid, name) VALUES ($1, $2)', [team, 'bench']);
  if (isServiceAccount) {
    await db.query('INSERT INTO service_accounts (uid, team_uid, name) VALUES ($1, $2, $3)', [
      principal,
      team,
      'bench',
    ]);
  } else {
    await db.query('INSERT INTO users (uid, email, display_name) VALUES ($1, $2, $3)', [
      principal,
      'bench@example.test',
      'bench',
    ]);
    await db.query(`INSERT INTO memberships (team_uid, user_uid, role) VALUES ($1, $2, 'member')`, [team, principal]);
  }
  await db.query(
    `INSERT INTO tokens (uid, hash, prefix, name, ${isServiceAccount ? 'service_account_uid' : 'user_uid'}) VALUES ($1, $2, $3, $4, $5)`,
    [randomUid(), createHash('sha256').update(token).digest(), 'hr_bench…', 'bench', principal],
  );
  return token;
}

const randomUid = () => randomBytes(11).toString('hex');

/** Runs `work` with the API of a new database after `fill`, whose result it gets. */
export async function withFilledApi(fill, work) {
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
    const filled = await withClient(postgres.url, fill);
    // Writes what was filled, so that PostgreSQL does not write it while something is measured.
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
    api = await start([join(root, 'dist/headrace.cjs'), 'api'], env, /API is ready/);
    return await work({ databaseUrl: postgres.url, api: api.child, port, origin: `http://127.0.0.1:${port}`, filled });
  } finally {
    if (api) await stop(api.child);
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

export async function withClient(connectionString, work) {
  const db = new pg.Client({ connectionString, options: '-c search_path=headrace,public -c timezone=UTC' });
  await db.connect();
  try {
    return await work(db);
  } finally {
    await db.end();
  }
}

/** The body as text; timing ends when it is here. */
export function getText(agent, url, token) {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        if (response.statusCode === 200) resolve(body);
        else reject(new Error(`${url}: ${response.statusCode} ${body}`));
      });
    }).on('error', reject);
  });
}
