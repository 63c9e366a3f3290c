import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePort } from '../support/installation.js';
import {
  api,
  type Connection,
  connectionOf,
  headrace,
  Launched,
  pidsOf,
  processesNaming,
  removeDir,
  start,
  temporaryDir,
} from './launched.js';

const SECRETS = {
  SECRETS_KEY: 'a-secret-that-no-agent-may-find-anywhere',
  MY_OWN_TOKEN: 'another-secret-of-the-shell',
};

interface Started {
  readonly launched: Launched;
  readonly at: string;
}

interface Ready {
  readonly launched: Launched;
  readonly connection: Connection;
}

let directory = '';
let dataDir = '';
let running: Started[] = [];

beforeAll(() => {
  directory = temporaryDir();
  dataDir = join(directory, 'data');
});

afterAll(async () => {
  for (const { launched } of running) {
    launched.signal('SIGTERM');
    await launched.exit;
  }
  removeDir(directory);
});

async function up(at = dataDir, more: Record<string, string> = SECRETS): Promise<Ready> {
  const launched = start(at, 'up', more);
  running.push({ launched, at });
  await launched.says(/Ctrl-C stops it\./);
  return { launched, connection: connectionOf(at) };
}

/** Returns the installation that most tests share, and starts it unless an earlier test has left it running. */
async function sharedInstallation(): Promise<Ready> {
  const left = running.find(({ at, launched: { child } }) => at === dataDir && child.exitCode === null);
  return left ? { launched: left.launched, connection: connectionOf(dataDir) } : up();
}

async function stop(launched: Launched, signal: NodeJS.Signals = 'SIGINT'): Promise<number | string> {
  launched.signal(signal);
  running = running.filter((other) => other.launched !== launched);
  return launched.exit;
}

const runIds = async (connection: Connection): Promise<string[]> => {
  const body = (await (await api(connection, '/agent/runs')).json()) as { runs: { run_id: string }[] };
  return body.runs.map(({ run_id }) => run_id);
};

describe('npm start', () => {
  it(
    'creates an installation that executes a run, stops without errors, and keeps its data after a restart',
    { timeout: 120_000 },
    async () => {
      const own = join(directory, 'own');
      const PORT = String(await freePort());
      const fileWhenReady = vi.waitFor(
        async () => {
          expect((await fetch(`http://127.0.0.1:${PORT}/health/ready`)).status).toBe(200);
          return existsSync(join(own, 'connection.json'));
        },
        { timeout: 90_000, interval: 5 },
      );
      const { launched, connection } = await up(own, { PORT });
      expect(await fileWhenReady).toBe(true);
      expect(statSync(join(own, 'connection.json')).mode & 0o777).toBe(0o600);
      expect(Object.keys(connection).sort()).toEqual(
        [
          'base_url',
          'docs_url',
          'factory_uid',
          'ingress_base_url',
          'service_account_token',
          'team_uid',
          'token',
        ].sort(),
      );
      expect(launched.output).toContain(connection.base_url);
      expect(launched.output).not.toContain(connection.token);
      expect(launched.output).not.toContain(connection.service_account_token);
      expect((await api(connection, '/agent/runs', connection.service_account_token)).status).toBe(200);
      expect((await fetch(connection.docs_url)).status).toBe(200);
      expect((await fetch(`${connection.ingress_base_url}/health/ready`)).status).toBe(200);

      const curl = /^curl .*$/m.exec(launched.output)?.[0] ?? '';
      const created = JSON.parse(execFileSync('sh', ['-c', curl], { encoding: 'utf8' })) as { run_id: string };
      await vi.waitFor(
        async () =>
          expect(await (await api(connection, `/agent/runs/${created.run_id}`)).json()).toMatchObject({
            state: 'SUCCEEDED',
          }),
        { timeout: 120_000, interval: 200 },
      );

      expect(await stop(launched)).toBe(0);
      await vi.waitFor(() => expect(processesNaming(own)).toEqual([]), { timeout: 10_000 });

      const second = await up(own, {});
      expect(second.connection).toMatchObject({
        token: connection.token,
        service_account_token: connection.service_account_token,
        team_uid: connection.team_uid,
      });
      expect(second.connection.factory_uid).toBe(connection.factory_uid);
      expect(await runIds(second.connection)).toEqual([created.run_id]);
      // npm and the terminal may both forward a Ctrl-C.
      second.launched.signal('SIGINT');
      second.launched.signal('SIGINT');
      expect(await stop(second.launched, 'SIGTERM')).toBe(0);
      expect(launched.output + second.launched.output).not.toMatch(/"level":"(error|fatal)"/);
    },
  );

  it('exposes no setting in the environment or arguments of server and PostgreSQL', { timeout: 120_000 }, async () => {
    const { launched } = await sharedInstallation();
    const password = readFileSync(join(dataDir, 'secrets/postgres-password'), 'utf8').trim();
    const { server, postgres } = pidsOf(dataDir);
    for (const pid of process.platform === 'linux' ? [server, postgres] : []) {
      const visible = readFileSync(`/proc/${pid}/environ`, 'utf8') + readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      for (const secret of [...Object.values(SECRETS), password]) expect(visible).not.toContain(secret);
      expect(visible).not.toContain('HEADRACE_DATA_DIR');
    }
    expect(launched.output).not.toContain(SECRETS.SECRETS_KEY);
    expect(launched.output).not.toContain(password);
  });
});

describe('npm start after kill -9', () => {
  it(
    'stops the server after a kill of the launcher, and restarts after a kill of launcher and server',
    { timeout: 120_000 },
    async () => {
      const first = await sharedInstallation();
      const orphan = pidsOf(dataDir);
      expect(await stop(first.launched, 'SIGKILL')).toBe('SIGKILL');
      await vi.waitFor(() => expect(processesNaming(dataDir).filter((pid) => pid === orphan.postgres)).toEqual([]), {
        timeout: 20_000,
      });

      const second = await up();
      expect(second.connection.token).toBe(first.connection.token);
      const killed = pidsOf(dataDir);
      process.kill(killed.server, 'SIGKILL');
      expect(await stop(second.launched, 'SIGKILL')).not.toBe(0);
      expect(processesNaming(dataDir)).toContain(killed.postgres);

      const third = await up();
      expect(third.connection.token).toBe(first.connection.token);
      expect((await api(third.connection, '/agent/runs')).status).toBe(200);
      expect(processesNaming(dataDir)).not.toContain(killed.postgres);
    },
  );

  it('restarts PostgreSQL and answers requests after a kill of PostgreSQL', { timeout: 120_000 }, async () => {
    const { launched, connection } = await sharedInstallation();
    const { postgres } = pidsOf(dataDir);
    process.kill(postgres, 'SIGKILL');
    await launched.says(/PostgreSQL runs again/);
    await vi.waitFor(async () => expect((await api(connection, '/agent/runs')).status).toBe(200), {
      timeout: 20_000,
      interval: 200,
    });
    expect(pidsOf(dataDir).postgres).not.toBe(postgres);
    expect(await stop(launched)).toBe(0);
  });
});

describe('npm start with invalid input', () => {
  it('lists all invalid settings and exits with 1', async () => {
    const launched = start(dataDir, 'up', { PORT: 'eighty', LEASE_TTL: '90', SECRETS_KEY: 'too-short-a-key' });
    expect(await launched.exit).toBe(1);
    for (const name of ['PORT', 'LEASE_TTL', 'SECRETS_KEY'])
      expect(launched.output).toMatch(new RegExp(`^  - ${name} must `, 'm'));
    expect(launched.output).not.toContain('too-short-a-key');
  });

  it('reports a data directory or a port that is in use and exits with 1', { timeout: 120_000 }, async () => {
    await sharedInstallation();
    const second = start(dataDir);
    expect(await second.exit).toBe(1);
    expect(second.output).toContain(`already runs on ${dataDir} (process ${pidsOf(dataDir).server})`);

    const blocker = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => blocker.once('listening', resolve));
    const { port } = blocker.address() as { port: number };
    const third = start(join(directory, 'other'), 'up', { PORT: String(port) });
    expect(await third.exit).toBe(1);
    expect(third.output).toContain(`port ${port} is used by another process. Set PORT to another one`);
    expect(processesNaming(join(directory, 'other'))).toEqual([]);
    blocker.close();
  });

  it('rejects an unknown server name with exit code 2', async () => {
    const launched = start(dataDir, 'everything');
    expect(await launched.exit).toBe(2);
    expect(launched.output).toContain('There is no server "everything"');
  });
});

describe('tokens of an installation', () => {
  it(
    'creates and revokes tokens while an instance runs, and creates new ones when connection.json is missing',
    { timeout: 120_000 },
    async () => {
      const first = await sharedInstallation();
      const created = await headrace(
        dataDir,
        'token',
        'create',
        '--user',
        'owner@headrace.local',
        '--name',
        'from a test',
      );
      expect(created.code).toBe(0);
      const token = /hr_\w+/.exec(created.output)?.[0] ?? '';
      expect((await api(first.connection, '/agent/runs', token)).status).toBe(200);
      const listed = await headrace(dataDir, 'token', 'list');
      expect(listed.output).not.toContain(token);
      const uid = /^(\w{22}) .*from a test/m.exec(listed.output)?.[1] ?? '';
      expect((await headrace(dataDir, 'token', 'revoke', uid)).code).toBe(0);
      await vi.waitFor(async () => expect((await api(first.connection, '/agent/runs', token)).status).toBe(401), {
        timeout: 5_000,
      });
      expect(await stop(first.launched)).toBe(0);

      rmSync(join(dataDir, 'connection.json'));
      const second = await up();
      expect(second.connection).toMatchObject({
        team_uid: first.connection.team_uid,
        factory_uid: first.connection.factory_uid,
      });
      expect(second.connection.token).not.toBe(first.connection.token);
      expect((await api(second.connection, '/agent/runs')).status).toBe(200);
    },
  );
});
