import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { isAlive, processStart } from '#platform/kernel';
import { openCluster } from './cluster.js';
import { EmbeddedPostgres } from './embedded-postgres.js';
import { self } from './pid-lock.js';
import { findPostmaster, stopPostmaster } from './postmaster.js';
import { canReach } from './server-account.js';
import { SERVER_ENVIRONMENT } from './server-options.js';

const isRoot = process.getuid?.() === 0;
const built = fileURLToPath(new URL('../../../../dist/libs/platform/embedded-postgres/src/index.js', import.meta.url));
const cleanups: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function temporaryDir(): string {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-pg-'));
  if (isRoot) chmodSync(directory, 0o711);
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function start(dataDir: string): Promise<EmbeddedPostgres> {
  const server = await EmbeddedPostgres.start({ dataDir, durable: false });
  cleanups.push(() => server.stop());
  return server;
}

let stopped: Promise<string> | undefined;

/** A data directory with the cluster of a server that was stopped: a copy of one, since creating a cluster takes longer. */
async function existingDataDir(): Promise<string> {
  const source = await (stopped ??= createStopped(mkdtempSync(join(tmpdir(), 'headrace-pg-'))));
  const dataDir = temporaryDir();
  // The cluster is in another directory, which all copies would share.
  if (lstatSync(join(source, 'postgres')).isSymbolicLink()) return createStopped(dataDir);
  // `cp` keeps owners, which the file functions of Node.js do not.
  execFileSync('cp', ['-a', `${source}/.`, dataDir]);
  return dataDir;
}

async function createStopped(dataDir: string): Promise<string> {
  if (isRoot) chmodSync(dataDir, 0o711);
  const server = await EmbeddedPostgres.start({ dataDir, durable: false });
  await server.stop();
  return dataDir;
}
afterAll(async () => rmSync((await stopped) ?? '', { recursive: true, force: true }));

async function query<T extends pg.QueryResultRow>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** A process that starts the server, prints its address, and lives until it is killed. */
async function startElsewhere(
  dataDir: string,
  uid?: number,
): Promise<{ child: ChildProcess; url: string; pid: number }> {
  const script = `import { EmbeddedPostgres } from ${JSON.stringify(built)};
    const server = await EmbeddedPostgres.start({ dataDir: ${JSON.stringify(dataDir)}, durable: false });
    console.log(JSON.stringify({ url: server.url, pid: server.pid }));
    process.on('SIGTERM', () => server.stop().then(() => process.exit(0)));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: '/',
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  const gone = once(child, 'exit');
  cleanups.push(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await gone;
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const { url, pid } = JSON.parse(line) as { url: string; pid: number };
    return { child, url, pid };
  }
  throw new Error('The process ended before PostgreSQL ran.');
}

/** As versions before the Unix socket started it. */
async function startOnTcp(dataDir: string): Promise<{ pid: number }> {
  const secrets = join(dataDir, 'secrets');
  const cluster = await openCluster(dataDir, secrets, false);
  const port = await new Promise<number>((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = probe.address() as AddressInfo;
      probe.close(() => resolve(free));
    });
  });
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off'];
  const args = ['-D', cluster.directory, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
  const options = { cwd: '/', env: SERVER_ENVIRONMENT, stdio: 'ignore' as const, ...(cluster.account ?? {}) };
  const child = spawn(cluster.programs.postgres, args, options);
  const gone = once(child, 'exit');
  cleanups.push(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGINT');
    await gone;
  });
  const found = await vi.waitFor(
    () => {
      const postmaster = findPostmaster(cluster.directory);
      if (!postmaster?.ready) throw new Error('PostgreSQL is not ready.');
      return postmaster;
    },
    { timeout: 20_000 },
  );
  return { pid: found.pid };
}

describe('a server with a session that does not end', () => {
  it('is stopped, and has its data after the next start', async () => {
    const server = await start(await existingDataDir());
    const client = new pg.Client({ connectionString: server.url });
    client.on('error', () => undefined);
    await client.connect();
    // As with durable: true, a commit is in the log of the database.
    await client.query('SET synchronous_commit = on');
    await client.query('CREATE TABLE kept AS SELECT 7 AS n');
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    process.kill(rows[0]?.pid ?? 0, 'SIGSTOP');
    const restarted = once(server, 'restarted');
    await stopPostmaster(server.pid, 300);
    await restarted;
    expect(await query(server.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
  });
});

describe('a new cluster', () => {
  it('serves the database of our role on a Unix socket, only with its password', async () => {
    const dataDir = temporaryDir();
    const server = await start(dataDir);
    expect(await query(server.url, 'SELECT current_user AS role, current_database() AS database')).toEqual([
      { role: 'headrace', database: 'headrace' },
    ]);
    expect(await query(server.url, `SELECT rolsuper FROM pg_roles WHERE rolname = current_user`)).toEqual([
      { rolsuper: false },
    ]);
    const wrong = new URL(server.url);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    expect(statSync(join(dataDir, 'secrets', 'postgres-password')).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'secrets')).mode & 0o777).toBe(0o700);
  });

  it('creates its socket in a directory closed to other accounts, and listens on no TCP port', async () => {
    const server = await start(temporaryDir());
    const socketDirectory = decodeURIComponent(new URL(server.url).hostname);
    expect(statSync(socketDirectory).mode & 0o777).toBe(0o700);
    expect(statSync(join(socketDirectory, '.s.PGSQL.5432')).mode & 0o777).toBe(0o700);
    expect(await query(server.url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '' }]);
    if (!isRoot) return;
    const path = join(socketDirectory, '.s.PGSQL.5432');
    const script = `require('node:net').connect(${JSON.stringify(path)})
      .on('connect', () => { console.log('connected'); process.exit(); })
      .on('error', (error) => console.log(error.code));`;
    const output = execFileSync(process.execPath, ['-e', script], { uid: 200_001, gid: 200_001, cwd: '/' });
    expect(output.toString().trim()).toBe('EACCES');
  });

  it('creates its socket in a short directory when the path of the data directory is too long', async () => {
    const parent = temporaryDir();
    const dataDir = join(parent, 'long '.repeat(20).trim(), 'data');
    mkdirSync(dirname(dataDir));
    if (isRoot) chmodSync(dirname(dataDir), 0o711);
    const server = await start(dataDir);
    const { url } = server;
    const socketDirectory = decodeURIComponent(new URL(url).hostname);
    expect(socketDirectory.startsWith(parent)).toBe(false);
    expect(statSync(socketDirectory).mode & 0o777).toBe(0o700);
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    const restarted = once(server, 'restarted');
    process.kill(server.pid, 'SIGKILL');
    await restarted;
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    const joined = await start(dataDir);
    expect(joined.url).toBe(url);
    await server.stop();
    await joined.stop();
    expect(existsSync(socketDirectory)).toBe(false);
  });

  it('has durable settings, and trigrams of every script', async () => {
    const dataDir = temporaryDir();
    const server = await EmbeddedPostgres.start({ dataDir });
    cleanups.push(() => server.stop());
    const settings = await query<{ name: string; setting: string }>(
      server.url,
      `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'max_connections', 'TimeZone') ORDER BY name`,
    );
    expect(Object.fromEntries(settings.map(({ name, setting }) => [name, setting]))).toEqual({
      fsync: 'on',
      full_page_writes: 'on',
      max_connections: '200',
      synchronous_commit: 'on',
      TimeZone: 'UTC',
    });
    await query(server.url, 'CREATE EXTENSION pg_trgm');
    expect(await query(server.url, `SELECT show_trgm('Ωμέγα') <> '{}' AS found, lower('ÄÖΩ') AS lower`)).toEqual([
      { found: true, lower: 'äöω' },
    ]);
  });

  it.runIf(isRoot)('lies outside a data directory that only root may enter, with a link to it', async () => {
    const parent = temporaryDir();
    chmodSync(parent, 0o700);
    const dataDir = join(parent, 'data');
    const server = await start(dataDir);
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(lstatSync(join(dataDir, 'postgres')).isSymbolicLink()).toBe(true);
    const home = dirname(realpathSync(join(dataDir, 'postgres')));
    cleanups.unshift(() => rmSync(home, { recursive: true, force: true }));
    expect(statSync(home).mode & 0o777).toBe(0o700);
    const pid = server.pid;
    await server.stop();
    const again = await start(dataDir);
    expect(again.pid).not.toBe(pid);
    expect(realpathSync(join(dataDir, 'postgres'))).toBe(join(home, 'postgres'));
  });

  it.runIf(isRoot && canReach(dirname(built), { uid: 65_534, gid: 65_534 }))(
    'is an ordinary user’s when an ordinary user starts it',
    async () => {
      const parent = temporaryDir();
      chmodSync(parent, 0o755);
      const dataDir = join(parent, 'data');
      mkdirSync(dataDir);
      chownSync(dataDir, 65_534, 65_534);
      const { url } = await startElsewhere(dataDir, 65_534);
      expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      expect(statSync(join(dataDir, 'postgres'))).toMatchObject({ uid: 65_534, isDirectory: expect.any(Function) });
      expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    },
  );
});

describe('a server that dies', () => {
  it('is restarted automatically, on the same socket, with all committed data', async () => {
    const server = await EmbeddedPostgres.start({ dataDir: await existingDataDir() });
    cleanups.push(() => server.stop());
    const [url, pid] = [server.url, server.pid];
    await query(url, 'CREATE TABLE kept (id int); INSERT INTO kept VALUES (1)');
    for (let round = 0; round < 2; round += 1) {
      const restarted = once(server, 'restarted');
      process.kill(server.pid, 'SIGKILL');
      await restarted;
    }
    expect(server.pid).not.toBe(pid);
    expect(server.url).toBe(url);
    expect(await query(url, 'SELECT id FROM kept')).toEqual([{ id: 1 }]);
  });

  it('is restarted also by a process that did not start it', async () => {
    const dataDir = await existingDataDir();
    const first = await startElsewhere(dataDir);
    const server = await start(dataDir);
    expect(server.pid).toBe(first.pid);
    const restarted = once(server, 'restarted');
    first.child.kill('SIGKILL');
    process.kill(server.pid, 'SIGKILL');
    await restarted;
    expect(server.url).toBe(first.url);
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

describe('a start on an existing data directory', () => {
  it('replaces an unused server of an earlier version, which listened on TCP', async () => {
    const dataDir = await existingDataDir();
    const before = await start(dataDir);
    await query(before.url, 'CREATE TABLE kept (id int)');
    await before.stop();
    const earlier = await startOnTcp(dataDir);
    const server = await start(dataDir);
    expect(isAlive(earlier.pid)).toBe(false);
    expect(await query(server.url, 'SELECT * FROM kept')).toEqual([]);
    expect(await query(server.url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '' }]);
  });

  it('rejects a server of an earlier version that is in use, and does not change it', async () => {
    const dataDir = await existingDataDir();
    const earlier = await startOnTcp(dataDir);
    const users = join(dataDir, 'state', 'postgres-users');
    writeFileSync(join(users, 'earlier'), JSON.stringify(self()));
    await expect(start(dataDir)).rejects.toThrow(/started by an earlier version of Headrace that is still running/);
    expect(isAlive(earlier.pid)).toBe(true);
    rmSync(join(users, 'earlier'));
  });

  it('replaces the server of a killed process, without two servers at once', async () => {
    const dataDir = await existingDataDir();
    const killed = await startElsewhere(dataDir);
    await query(killed.url, 'CREATE TABLE kept (id int)');
    const gone = once(killed.child, 'exit');
    killed.child.kill('SIGKILL');
    await gone;
    expect(isAlive(killed.pid)).toBe(true);
    const server = await start(dataDir);
    expect(isAlive(killed.pid)).toBe(false);
    expect(await query(server.url, 'SELECT * FROM kept')).toEqual([]);
  });

  it('joins the server of a living process; its last user stops it', async () => {
    const dataDir = await existingDataDir();
    const [one, two] = await Promise.all([start(dataDir), start(dataDir)]);
    expect(one.pid).toBe(two.pid);
    await one.stop();
    expect(await query(two.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await two.stop();
    expect(processStart(two.pid)).toBeNull();
    expect(findPostmaster(realpathSync(join(dataDir, 'postgres')))).toBeNull();
  });

  it('keeps the data of the stopped server, and sets a new password when its file is lost', async () => {
    const dataDir = await existingDataDir();
    const before = await start(dataDir);
    await query(before.url, 'CREATE TABLE kept (id int)');
    await before.stop();
    rmSync(join(dataDir, 'secrets', 'postgres-password'));
    const after = await start(dataDir);
    expect(new URL(after.url).password).not.toBe(new URL(before.url).password);
    expect(await query(after.url, 'SELECT * FROM kept')).toEqual([]);
  });
});
