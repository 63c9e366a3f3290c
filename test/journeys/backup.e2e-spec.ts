import { spawn } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ExecutionTokens } from '#execution/executions';
import { startVerifyingS3, type TestDatabase, VERIFYING_S3_KEYS } from '#testing';
import { createEmptyDatabase } from '../../libs/testing/src/database/test-database.js';
import { answersIn, type Connection, Installation, MAIN, Program, tick, until } from '../support/installation.js';
import { isLong } from '../support/long-tests.js';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const KEY = 'a-key-for-tests-only-0123456789abcdef';
const SECRET = 'sw0rdf1sh';
const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

/** Runs a command of the command line with the settings of the installation. */
const headrace = (installation: Pick<Installation, 'environment'>, ...args: string[]) =>
  outputOf(installation, process.execPath, MAIN, ...args);

async function outputOf(
  installation: Pick<Installation, 'environment'>,
  command: string,
  ...args: string[]
): Promise<{ code: number | string; text: string }> {
  const child = spawn(command, args, { env: installation.environment, stdio: ['ignore', 'pipe', 'pipe'] });
  const program = new Program(child, args.join(' '));
  return { code: await program.exited, text: program.text };
}

/** The rows of each table, by name. */
async function rowsOf(databaseUrl: string): Promise<ReadonlyMap<string, number>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'headrace'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
    );
    const counts = new Map<string, number>();
    for (const { name } of rows)
      counts.set(name, Number((await client.query(`SELECT count(*) AS n FROM headrace.${name}`)).rows[0]?.n));
    return counts;
  } finally {
    await client.end();
  }
}

describe('a backup that is made under load', { timeout: 120_000 }, () => {
  let directory: string;
  let first: Installation;
  let connection: Connection;
  let server: Program;
  let hook: { id: string; url: string; secret: string };
  let backup: string;
  /** Runs that were acknowledged before the backup began, with what their agent answered. */
  const before = new Map<string, string>();
  const acknowledged = { runs: new Set<string>(), deliveries: new Set<string>() };
  let working: string;
  let executionId: string;
  let database: TestDatabase;
  let second: Installation;
  let secondServer: Program | null = null;
  let s3: Awaited<ReturnType<typeof startVerifyingS3>>;

  const deliver = async (installation: Installation, number: number): Promise<string> => {
    const { hostname, port } = new URL(`http://127.0.0.1:${installation.environment.INGRESS_PORT}`);
    const url = new URL(hook.url);
    const response = await fetch(`http://${hostname}:${port}${url.pathname}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${hook.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ number }),
    });
    expect(response.status).toBe(202);
    return ((await response.json()) as { delivery_id: string }).delivery_id;
  };
  const call = (installation: Installation, method: string, path: string, body?: unknown) =>
    installation.callAt(method, path, body, connection.token);
  const answersOf = async (installation: Installation, runId: string): Promise<string> =>
    answersIn((await call(installation, 'GET', `/agent/runs/${runId}/conversation`)).body);
  const deliveriesOf = async (installation: Installation) =>
    (await call(installation, 'GET', `/factories/${connection.factory_uid}/webhooks/${hook.id}/deliveries?limit=100`))
      .body.deliveries as { delivery_id: string; automation_results?: { run_id?: string }[] }[];

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'headrace-backup-'));
    backup = join(directory, 'backup');
    first = await Installation.create({
      SECRETS_KEY: KEY,
      WEBHOOK_RATE_LIMIT: '6000',
      MAX_CONCURRENT_RUNS: '4',
      MAX_CONCURRENT_RUNS_PER_TEAM: '4',
    });
    server = await first.up();
    ({ connection } = first);
    expect((await first.call('PUT', '/secrets/password', { value: SECRET })).status).toBeLessThan(300);
    const factory = `/factories/${connection.factory_uid}`;
    const { body: made } = await first.call('POST', `${factory}/webhooks`, { name: 'events', auth_mode: 'token' });
    hook = { id: made.uid, url: made.ingress_url, secret: made.secret };
    const trigger = { provider: 'webhook', event: 'received', filter: { webhook_ids: [hook.id] } };
    const automation = { name: 'echo', enabled: true, prompt: sh('echo delivered'), triggers: [trigger] };
    expect((await first.call('POST', `${factory}/automations`, automation)).status).toBe(201);
    const schedule = { name: 'nightly', cron_schedule: '0 3 * * *', enabled: true, prompt: sh('true') };
    expect((await first.call('POST', '/agent/schedules', schedule)).status).toBeLessThan(300);
    for (let number = 0; number < 3; number += 1) {
      const runId = await first.createRun(sh(`echo answer-${number}; echo ${number} > kept.txt`));
      await first.waitFor(runId, ['SUCCEEDED']);
      before.set(runId, `answer-${number}`);
    }
    working = await first.createRun(sh('sleep 600'));
    await first.waitFor(working, ['INPROGRESS']);
    // In turns until the backup has ended: a run, and a delivery that starts one. Each of them is executed again after the restore.
    const ending = new AbortController();
    const load = (async () => {
      for (let number = 100; number < 400 && !ending.signal.aborted; number += 1) {
        const deliveryId = await deliver(first, number);
        const runId = await first.createRun(sh('true'));
        acknowledged.deliveries.add(deliveryId);
        acknowledged.runs.add(runId);
        // A pace that the slots can follow.
        await tick(isLong ? 150 : 300);
      }
    })();
    await until(() => acknowledged.runs.size >= 4, 30_000, 'the first runs of the load');
    const begun = { runs: [...acknowledged.runs], deliveries: [...acknowledged.deliveries] };
    const ended = await headrace(first, 'backup', '--to', backup);
    ending.abort();
    await load;
    expect(ended, ended.text).toMatchObject({ code: 0 });
    console.log(
      `The backup began after ${begun.runs.length} runs and deliveries each, and ended after ${acknowledged.runs.size}.`,
    );
    acknowledged.runs = new Set(begun.runs);
    acknowledged.deliveries = new Set(begun.deliveries);
    await server.stop('SIGKILL');
    s3 = await startVerifyingS3('objects');
    database = await createEmptyDatabase();
    second = await Installation.create({
      DATABASE_URL: database.url,
      SECRETS_KEY: KEY,
      MAX_CONCURRENT_RUNS: '8',
      MAX_CONCURRENT_RUNS_PER_TEAM: '8',
      OBJECT_STORE_URL: 's3://objects/headrace',
      S3_ENDPOINT: s3.url,
      S3_FORCE_PATH_STYLE: 'true',
      S3_ACCESS_KEY_ID: VERIFYING_S3_KEYS.accessKeyId,
      S3_SECRET_ACCESS_KEY: VERIFYING_S3_KEYS.secretAccessKey,
    });
  }, 120_000);
  afterAll(async () => {
    await secondServer?.stop();
    await server.stop('SIGKILL');
    first.remove();
    second.remove();
    await database.close();
    await s3.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('is readable by its owner only, and contains no key', () => {
    expect(statSync(backup).mode & 0o777).toBe(0o700);
    expect(statSync(join(backup, 'backup.json')).mode & 0o777).toBe(0o600);
    expect(existsSync(join(backup, 'secrets-key'))).toBe(false);
    expect(existsSync(`${backup}.incomplete`)).toBe(false);
  });

  it('is rejected with another key, with a damaged file, of a newer version, and when it is not complete', async () => {
    const other = await Installation.create({ SECRETS_KEY: `${KEY}-other` });
    const copy = join(directory, 'copy');
    try {
      expect(await headrace(other, 'restore', '--from', backup)).toMatchObject({
        code: 1,
        text: expect.stringContaining('SECRETS_KEY is not the key of the backup.'),
      });
      cpSync(backup, copy, { recursive: true });
      appendFileSync(join(copy, 'tables/headrace.runs.gz'), 'x');
      expect(await headrace(second, 'restore', '--from', copy)).toMatchObject({
        code: 1,
        text: expect.stringContaining('The file of the table headrace.runs is damaged'),
      });
      rmSync(copy, { recursive: true });
      cpSync(backup, copy, { recursive: true });
      const file = join(copy, 'backup.json');
      const manifest = JSON.parse(readFileSync(file, 'utf8')) as { migrations: object[] };
      const [first] = (manifest as unknown as { tables: object[] }).tables;
      writeFileSync(file, JSON.stringify({ ...manifest, tables: [{ ...first, name: 'public.other' }] }));
      expect(await headrace(second, 'restore', '--from', copy)).toMatchObject({
        code: 1,
        text: expect.stringContaining('The backup names public.other, which is not of Headrace or its plugins.'),
      });
      writeFileSync(file, '{"format":1}');
      expect(await headrace(second, 'restore', '--from', copy)).toMatchObject({
        code: 1,
        text: expect.stringContaining('backup.json is damaged: a part of it is missing.'),
      });
      const added = { name: 'headrace/2099-01-01-add-a-column', checksum: 'none' };
      writeFileSync(file, JSON.stringify({ ...manifest, migrations: [...manifest.migrations, added] }));
      expect(await headrace(second, 'restore', '--from', copy)).toMatchObject({
        code: 1,
        text: expect.stringContaining('The backup has migrations that this program does not have: headrace/2099-01-01'),
      });
      rmSync(file);
      expect(await headrace(second, 'restore', '--from', copy)).toMatchObject({
        code: 1,
        text: expect.stringContaining('is not a complete backup'),
      });
    } finally {
      other.remove();
    }
  });

  it.runIf(isLong)(
    'is rejected while a process is connected, with a damaged object, and with objects in the store, and is repeated then',
    async () => {
      const text = async (from: string): Promise<string> => (await headrace(second, 'restore', '--from', from)).text;
      expect(await headrace(second, 'migrate')).toMatchObject({ code: 0 });
      const api = new Program(
        spawn(process.execPath, [MAIN, 'api'], { env: second.environment, stdio: ['ignore', 'pipe', 'pipe'] }),
        'api',
      );
      await api.says('is ready');
      expect(await text(backup)).toContain('Processes of Headrace are connected to the database.');
      await api.stopCleanly();
      const copy = join(directory, 'damaged');
      cpSync(backup, copy, { recursive: true });
      const [key = ''] = readFileSync(join(copy, 'objects.txt'), 'utf8').split('\n', 1)[0]?.split(' ').slice(2) ?? [];
      appendFileSync(join(copy, 'objects', `${key}@`), 'x');
      expect(await text(copy)).toContain(`The object ${key} cannot be copied: its content is not that of the backup.`);
      // The mark of the restore: no process starts before it is repeated.
      const blocked = await headrace(second, 'up');
      expect(blocked).toMatchObject({
        code: 1,
        text: expect.stringContaining('A restore into this database has not ended.'),
      });
      expect((await headrace(second, 'restore', '--resume')).code).toBe(1);
      // Without the mark, objects in the store are those of somebody else.
      await database.query('DROP SCHEMA headrace CASCADE');
      for (const _attempt of [1, 2]) expect(await text(backup)).toContain('The object store contains objects.');
      second.environment.OBJECT_STORE_URL = 's3://objects/other';
    },
  );

  it('is restored into another PostgreSQL and S3, where everything can be read and nothing starts', async () => {
    const restored = await headrace(second, 'restore', '--from', backup);
    expect(restored, restored.text).toMatchObject({ code: 0, text: expect.stringContaining('It is held') });
    secondServer = await second.up();
    for (const [runId, answer] of before) {
      expect((await call(second, 'GET', `/agent/runs/${runId}`)).body).toMatchObject({ state: 'SUCCEEDED' });
      expect(await answersOf(second, runId)).toContain(answer);
      // From the object store.
      const { status, body } = await call(second, 'GET', `/agent/runs/${runId}/changes`);
      expect([status, JSON.stringify(body)]).toEqual([200, expect.stringContaining('kept.txt')]);
    }
    for (const runId of acknowledged.runs) expect((await call(second, 'GET', `/agent/runs/${runId}`)).status).toBe(200);
    const logged = (await deliveriesOf(second)).map(({ delivery_id: id }) => id);
    expect(logged).toEqual(expect.arrayContaining([...acknowledged.deliveries]));
    expect(new Set(logged).size).toBe(logged.length);
    const created = (await call(second, 'POST', '/agent/runs', { prompt: sh('true') })).body.run_id as string;
    const delivered = await deliver(second, 1);
    await secondServer.says('is held');
    // A second start, at which everything that is due would begin.
    await secondServer.stopCleanly();
    secondServer = await second.up();
    await secondServer.says('is held');
    expect((await call(second, 'GET', `/agent/runs/${created}`)).body).toMatchObject({
      state: 'QUEUED',
      status_message: { message: expect.stringContaining('is held until an operator releases it') },
    });
    expect((await call(second, 'GET', `/agent/runs/${working}`)).body).toMatchObject({ state: 'INPROGRESS' });
    const last = (await deliveriesOf(second)).find(({ delivery_id: id }) => id === delivered);
    expect(last?.automation_results ?? []).toEqual([]);
  });

  it('has ended the lease of the run at work, whose runner may still be alive', async () => {
    const [execution] = await database.query<{ id: string; lease_epoch: number }>(
      'SELECT id, lease_epoch FROM headrace.executions WHERE run_id = $1',
      [working],
    );
    const { id = '', lease_epoch: epoch = 0 } = execution ?? {};
    executionId = id;
    // Of the claim before the backup, and of one after it.
    for (const known of [epoch - 1_000_000, epoch - 1_000_000 + 1]) {
      const response = await second.callAt(
        'POST',
        `/runner/v1/executions/${id}/events`,
        { lease_epoch: known, events: [] },
        new ExecutionTokens(KEY).mint(id),
      );
      expect([response.status, response.body]).toMatchObject([412, { error_code: 'lease_lost' }]);
    }
  });

  it('continues when it is released: each delivery has started one run, and the run at work has ended', async () => {
    const released = await headrace(second, 'restore', '--resume');
    expect(released, released.text).toMatchObject({ code: 0 });
    expect(await second.waitFor(working, ENDED, 30_000, connection.token)).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout' },
    });
    const runsOf = async () =>
      (await deliveriesOf(second)).map(({ automation_results: results = [] }) => results[0]?.run_id);
    await until(async () => (await runsOf()).every((runId) => runId !== undefined), 30_000, 'a run for each delivery');
    const started = await runsOf();
    expect(new Set(started).size).toBe(started.length);
    let lost = 0;
    for (const runId of [...acknowledged.runs, ...started]) {
      const run = await second.waitFor(runId ?? '', ENDED, 60_000, connection.token);
      if (run.status_message?.error_code === 'infrastructure_timeout') lost += 1;
      else expect(run).toMatchObject({ state: 'SUCCEEDED' });
    }
    // Those that were at work at the moment of the backup, beside the one that waits.
    expect(lost).toBeLessThanOrEqual(3);
    const { body } = await call(second, 'POST', '/agent/runs', {
      prompt: sh('echo "length ${#password}"'),
      config: { secrets: [{ name: 'password' }] },
    });
    await second.waitFor(body.run_id as string, ['SUCCEEDED'], 30_000, connection.token);
    expect(await answersOf(second, body.run_id as string)).toContain(`length ${SECRET.length}`);
    // The installation of the backup may have created executions with the next identifiers, and their runners the tokens.
    const [newest] = await database.query<{ id: string }>('SELECT id FROM headrace.executions WHERE run_id = $1', [
      body.run_id,
    ]);
    expect(Number(newest?.id)).toBeGreaterThan(Number(executionId) + 100_000_000);
    const again = await headrace(second, 'restore', '--resume');
    expect(again).toMatchObject({ code: 1, text: expect.stringContaining('The installation is not held') });
  });

  it('is never restored over an installation', async () => {
    expect(await headrace(second, 'restore', '--from', backup)).toMatchObject({
      code: 1,
      text: expect.stringContaining('The database contains an installation.'),
    });
  });

  it('says that the data directory has no objects', async () => {
    const { OBJECT_STORE_URL: _, ...environment } = second.environment;
    const to = join(directory, 'without-objects');
    expect(await headrace({ environment }, 'backup', '--to', to)).toMatchObject({
      code: 0,
      text: expect.stringMatching(/ and 0 objects with 0 bytes\. HEADRACE_DATA_DIR \(.*\) has no objects: it must be/),
    });
  });

  it('is rejected with a sentence when its directory cannot be created', async () => {
    // Node.js never returns when it creates a directory there together with those that contain it.
    const ofProcesses = join('/proc', 'headrace', 'other');
    for (const [to, reason] of [
      [join(backup, 'backup.json', 'other'), 'ENOTDIR: not a directory'],
      [ofProcesses, 'ENOENT: no such file or directory'],
    ] as const) {
      const { code, text } = await headrace(second, 'backup', '--to', to);
      expect({ code, text: text.trim() }).toEqual({
        code: 1,
        text: expect.stringMatching(
          new RegExp(`^headrace: The backup cannot be written to .*other: ${reason}, mkdir .*$`),
        ),
      });
    }
  });

  it('is rejected with a sentence, and removed, when its connection is lost while the objects are copied', async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    // The connection that holds the lock of the backup ends with the first request of the copy.
    const ended: number[] = [];
    s3.beforeAnswer = async () => {
      if (ended.length > 0) return;
      const { rows } = await client.query<{ pid: number }>(
        `SELECT pid, pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'headrace-backup'`,
      );
      ended.push(...rows.map(({ pid }) => pid));
    };
    try {
      const to = join(directory, 'disconnected');
      const { code, text } = await headrace(second, 'backup', '--to', to);
      expect({ code, text: text.trim() }).toEqual({
        code: 1,
        text: expect.stringMatching(
          /^headrace: The connection to the database was lost while the objects were copied\. Try again\.$/m,
        ),
      });
      expect(ended).toHaveLength(1);
      expect([existsSync(to), existsSync(`${to}.incomplete`)]).toEqual([false, false]);
    } finally {
      s3.beforeAnswer = null;
      await client.end();
    }
  });

  it('is rejected with a sentence, and removed, when a large table cannot be written', async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      await client.query(`INSERT INTO headrace.run_events (run_id, seq, kind, at, data)
        SELECT gen_random_uuid(), 1, 'filling', now(), jsonb_build_object('text',
          (SELECT string_agg(md5(random()::text || n || m), '') FROM generate_series(1, 60) AS m))
          FROM generate_series(1, 10000) AS n`);
      const to = join(directory, 'too-large');
      const command = [process.execPath, MAIN, 'backup', '--to', to];
      // As on a full disk: no file may become larger than a megabyte.
      const { code, text } = await outputOf(second, 'prlimit', '--fsize=1000000', ...command);
      expect({ code, text: text.trim() }).toEqual({
        code: 1,
        text: expect.stringMatching(
          /^headrace: The backup cannot be written to .*too-large: EFBIG: file too large, write\.$/,
        ),
      });
      expect(existsSync(`${to}.incomplete`)).toBe(false);
    } finally {
      await client.query(`DELETE FROM headrace.run_events WHERE kind = 'filling'`);
      await client.end();
    }
  });

  it.runIf(isLong)(
    'of the other PostgreSQL is restored into an embedded one with the key, with every row',
    async () => {
      const back = join(directory, 'back');
      await secondServer?.stopCleanly();
      secondServer = null;
      expect(await headrace(second, 'backup', '--to', back, '--include-key')).toMatchObject({ code: 0 });
      const third = await Installation.create();
      try {
        const restored = await headrace(third, 'restore', '--from', back, '--resume');
        expect(restored, restored.text).toMatchObject({ code: 0 });
        const thirdServer = await third.up();
        try {
          for (const [runId, answer] of before) {
            expect(await answersOf(third, runId)).toContain(answer);
            const { status, body } = await call(third, 'GET', `/agent/runs/${runId}/changes`);
            expect([status, JSON.stringify(body)]).toEqual([200, expect.stringContaining('kept.txt')]);
          }
          expect(await third.waitFor(await third.createRun(sh('echo "$((6 * 7))"')), ENDED)).toMatchObject({
            state: 'SUCCEEDED',
          });
          expect((await headrace(third, 'audit', 'verify')).text).toMatch(/entries/);
        } finally {
          await thirdServer.stopCleanly();
        }
      } finally {
        third.remove();
      }
      const rows = await rowsOf(database.url);
      const { tables } = JSON.parse(readFileSync(join(back, 'backup.json'), 'utf8')) as {
        tables: { name: string; rows: number }[];
      };
      // The backup itself adds an entry to the audit log.
      for (const { name, rows: saved } of tables)
        if (!name.includes('audit')) expect([name, saved]).toEqual([name, rows.get(name.slice('headrace.'.length))]);
      expect(tables.find(({ name }) => name === 'headrace.runs')?.rows).toBeGreaterThan(10);
    },
  );
});
