import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { createTestDatabase, onDatabase } from '#testing';
import {
  checkout,
  environment,
  headrace,
  Launched,
  processesNaming,
  removeDir,
  start,
  temporaryDir,
} from './launched.js';

let directory = '';
let dataDir = '';
let running: Launched[] = [];

beforeEach(() => {
  directory = temporaryDir();
  dataDir = join(directory, 'data');
});

afterEach(async () => {
  await stopAll();
  removeDir(directory);
});

async function stopAll(): Promise<(number | string)[]> {
  const stopping = running;
  running = [];
  for (const launched of stopping) launched.signal('SIGTERM');
  return Promise.all(stopping.map(({ exit }) => exit));
}

async function freePorts(): Promise<{ PORT: string; INGRESS_PORT: string }> {
  const probes = await Promise.all(
    [1, 2].map(async () => {
      const probe = createServer().listen(0, '127.0.0.1');
      await new Promise((resolve) => probe.once('listening', resolve));
      return probe;
    }),
  );
  const [PORT, INGRESS_PORT] = probes.map((probe) => String((probe.address() as { port: number }).port));
  await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))));
  return { PORT: PORT ?? '', INGRESS_PORT: INGRESS_PORT ?? '' };
}

const tokenIn = (output: string): string => /hr_\w+/.exec(output)?.[0] ?? '';

describe('API, ingress and processor in separate processes', () => {
  it('executes runs, and cancels the personal run of a disabled user', { timeout: 180_000 }, async () => {
    const ports = await freePorts();
    for (const command of ['api', 'ingress', 'processor']) running.push(start(dataDir, command, ports));
    await Promise.all(running.map((launched) => launched.says(/is ready/)));

    const origin = `http://127.0.0.1:${ports.PORT}`;
    const first = await headrace(dataDir, 'administrator', 'create', 'site@example.test');
    const tokenFile = join(directory, 'token');
    writeFileSync(tokenFile, tokenIn(first.output));
    const remote = async (...args: string[]): Promise<string> => {
      const { code, output } = await headrace(dataDir, ...args, '--url', origin, '--token-file', tokenFile);
      expect(code, output).toBe(0);
      return output;
    };
    const user = (await remote('user', 'create', 'person@example.test')).trim();
    await remote('team', 'create', 'Separate', '--owner', user);
    const token = tokenIn(await remote('token', 'create', '--user', 'person@example.test'));
    await remote('audit', 'verify', '--scope', 'installation');
    expect(await remote('audit', 'list', '--scope', 'installation', '--json')).toMatch(/"action": "token.created"/);

    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ prompt: '```sh\necho separate\n```' });
    const created = (await (await fetch(`${origin}/api/v1/agent/runs`, { method: 'POST', headers, body })).json()) as {
      run_id: string;
    };
    await vi.waitFor(
      async () =>
        expect(await (await fetch(`${origin}/api/v1/agent/runs/${created.run_id}`, { headers })).json()).toMatchObject({
          state: 'SUCCEEDED',
        }),
      { timeout: 120_000, interval: 200 },
    );
    expect((await fetch(`http://127.0.0.1:${ports.INGRESS_PORT}/health/ready`)).status).toBe(200);

    // Disabling a user on the command line stops the agents of the personal runs of this user.
    const sleeping = JSON.stringify({ prompt: '```sh\nsleep 600\n```', team: false });
    const own = (await (
      await fetch(`${origin}/api/v1/agent/runs`, { method: 'POST', headers, body: sleeping })
    ).json()) as { run_id: string };
    const read = async () => fetch(`${origin}/api/v1/agent/runs/${own.run_id}`, { headers });
    await vi.waitFor(async () => expect(await (await read()).json()).toMatchObject({ state: 'INPROGRESS' }), {
      timeout: 120_000,
      interval: 200,
    });
    await remote('user', 'disable', user);
    await vi.waitFor(async () => expect((await read()).status).toBe(401), { timeout: 5_000, interval: 50 });
    expect(await remote('user', 'list')).toMatch(new RegExp(`^${user} .*Z +\\d{4}-`, 'm'));
    await remote('user', 'enable', user);
    await vi.waitFor(
      async () => expect(await (await read()).json()).toMatchObject({ state: 'CANCELLED', is_sandbox_running: false }),
      { timeout: 20_000, interval: 100 },
    );

    expect(await stopAll()).toEqual([0, 0, 0]);
    await vi.waitFor(() => expect(processesNaming(dataDir)).toEqual([]), { timeout: 10_000 });
  });

  it('exits with 1 when the database of DATABASE_URL is unavailable', { timeout: 120_000 }, async () => {
    const owner = start(dataDir, 'ingress');
    running.push(owner);
    await owner.says(/is ready/);
    const other = start(join(directory, 'other'), 'processor', {
      DATABASE_URL: 'postgresql://nobody:secret@127.0.0.1:1/none',
      DATABASE_START_TIMEOUT: '0s',
    });
    expect(await other.exit).toBe(1);
    expect(other.output).toContain('the database of DATABASE_URL cannot be used (ECONNREFUSED)');
    expect(other.output).not.toContain('secret');
  });

  it(
    'logs that a process waits for a database that does not accept connections yet',
    { timeout: 120_000 },
    async () => {
      const database = await createTestDatabase();
      const name = new URL(database.url).pathname.slice(1);
      const alter = (isAllowed: boolean): Promise<unknown> =>
        onDatabase(inject('postgres').url, (server) =>
          server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS ${String(isAllowed)}`),
        );
      try {
        await alter(false);
        const processor = start(dataDir, 'processor', { DATABASE_URL: database.url });
        running.push(processor);
        await processor.says(
          /Waiting for the database, up to 60 s \(DATABASE_START_TIMEOUT\): .*not currently accepting/,
        );
        await alter(true);
        await processor.says(/is ready/);
        await stopAll();
      } finally {
        await alter(true);
        await database.close();
      }
    },
  );

  it('stops a process with SIGTERM while it waits for the database', { timeout: 120_000 }, async () => {
    const processor = start(dataDir, 'processor', { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' });
    await processor.says(/Waiting for the database/);
    processor.signal('SIGTERM');
    expect(await processor.exit).toBe(1);
    expect(processor.output).toContain('cannot be used (ECONNREFUSED)');
  });

  it.each(['processor', 'migrate'])(
    'rejects a database whose schema is newer than the program (%s)',
    { timeout: 120_000 },
    async (command) => {
      const database = await createTestDatabase();
      try {
        await database.query(
          `INSERT INTO headrace.schema_migrations (name, checksum) VALUES ('headrace/2999-01-01-newer', '')`,
        );
        const settings = { DATABASE_URL: database.url };
        const rejected =
          command === 'migrate'
            ? new Launched(process.execPath, [join(checkout, 'bin/headrace.mjs'), command], {
                env: environment(dataDir, settings),
              })
            : start(dataDir, command, settings);
        expect(await rejected.exit).toBe(1);
        expect(rejected.output).toContain('The database schema is newer than this version of Headrace');
        expect(rejected.output).toContain('headrace/2999-01-01-newer');
      } finally {
        await database.close();
      }
    },
  );

  it('rejects a database whose queues have an outdated schema', { timeout: 120_000 }, async () => {
    const database = await createTestDatabase();
    try {
      await database.query('DELETE FROM bullmq.migration');
      const processor = start(dataDir, 'processor', { DATABASE_URL: database.url });
      expect(await processor.exit).toBe(1);
      expect(processor.output).toContain('The schema of the queues is behind. Run `headrace migrate`.');
    } finally {
      await database.close();
    }
  });
});
