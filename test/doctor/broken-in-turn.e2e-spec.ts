import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSettings } from '#platform/config';
import { Clock } from '#platform/kernel';
import { SecretBox } from '#platform/secrets';
import { createDatabaseProxy, createTestDatabase, startVerifyingS3, VERIFYING_S3_KEYS } from '#testing';
import { failed, Machine, SECRETS_KEY, textOf } from './examination.js';
import { startSilentServer } from './silent-server.js';

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.create();
});
afterAll(() => machine.close());

/** The URL of the test database with a change. */
function databaseUrl(change: (url: URL) => void): string {
  const url = new URL(machine.database.url);
  change(url);
  return url.href;
}

describe('doctor on a healthy machine', () => {
  it('reports no failure on a healthy machine', async () => {
    const results = await machine.examine();
    expect(failed(results)).toEqual([]);
    for (const check of ['database', 'queue', 'object store', 'secrets key', 'git', 'node', 'settings', 'clock'])
      expect(textOf(results, check)).toMatch(/^ok/);
  });

  it('reports no failure before the first start', async () => {
    const results = await machine.examine({ DATABASE_URL: undefined, SECRETS_KEY: undefined });
    expect(failed(results)).toEqual([]);
    expect(textOf(results, 'database')).toMatch(/^ok \| the embedded PostgreSQL \d+, .*created at the first start/);
    expect(textOf(results, 'secrets key')).toContain('generated at the first start');
  });
});

describe('doctor with a misspelled setting', () => {
  it('warns about a misspelled setting and suggests the intended one', async () => {
    const results = await machine.examine({ MAX_CONCURENT_RUNS: '3' });
    expect(failed(results)).toEqual([]);
    expect(textOf(results, 'settings')).toMatch(/^warn \| MAX_CONCURENT_RUNS .*MAX_CONCURRENT_RUNS/);
  });
});

describe('doctor with broken tools', () => {
  it('reports a missing git', async () => {
    const results = await machine.examine({ PATH: join(machine.directory, 'nothing') });
    expect(failed(results)).toEqual(['git']);
    expect(textOf(results, 'git')).toMatch(/not on PATH \| Install git 2\.36 or newer/);
  });

  it('reports an outdated git', async () => {
    const bin = join(machine.directory, 'old-git');
    mkdirSync(bin);
    writeFileSync(join(bin, 'git'), '#!/bin/sh\necho git version 2.17.1\n', { mode: 0o755 });
    const results = await machine.examine({ PATH: bin });
    expect(failed(results)).toEqual(['git']);
    expect(textOf(results, 'git')).toMatch(/git 2\.17\.1; 2\.36 or newer is required/);
  });

  it('reports required harnesses that are not installed', async () => {
    const file = join(machine.directory, 'harnesses.json');
    const own = { command: 'no-such-program', install_hint: 'ask the smith' };
    writeFileSync(file, JSON.stringify({ harnesses: { 'of-ours': own, gemini: { command: 'no-gemini-either' } } }));
    const results = await machine.examine({ HARNESSES_FILE: file }, { harnesses: ['oz', 'no-such-harness'] });
    expect(failed(results)).toEqual(['harnesses']);
    expect(textOf(results, 'harnesses')).toContain('fail | of-ours is not installed | ask the smith');
    expect(textOf(results, 'harnesses')).toMatch(
      /fail \| gemini is not installed \| npm install -g @google\/gemini-cli/,
    );
    expect(textOf(results, 'harnesses')).toContain('fail | no-such-harness is unknown');
  });

  it('reports an invalid harnesses file', async () => {
    const file = join(machine.directory, 'harnesses-broken.json');
    writeFileSync(file, '{"harnesses": {"own": {"args": 7}}}');
    const results = await machine.examine({ HARNESSES_FILE: file });
    expect(failed(results)).toEqual(['harnesses']);
    expect(textOf(results, 'harnesses')).toMatch(
      /HARNESSES_FILE, harnesses\.own\.args.* \| Fix .*harnesses-broken\.json/,
    );
  });

  it('reports a missing container engine, and a server that is no engine', async () => {
    const socket = join(machine.directory, 'engine.sock');
    const absent = await machine.examine({ EXECUTOR: 'docker', DOCKER_HOST: `unix://${socket}` });
    expect(failed(absent)).toEqual(['executor']);
    expect(textOf(absent, 'executor')).toMatch(/does not answer \(.*ENOENT.*\) \| Start it/);
    const other = await startSilentServer(() => 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
    try {
      const results = await machine.examine({ EXECUTOR: 'docker', DOCKER_HOST: `tcp://127.0.0.1:${other.port}` });
      expect(failed(results)).toEqual(['executor']);
      expect(textOf(results, 'executor')).toContain('not a Docker Engine');
    } finally {
      await other.close();
    }
  });
});

it('completes the other checks while one hangs', { timeout: 20_000 }, async () => {
  const bin = join(machine.directory, 'slow-git');
  mkdirSync(bin);
  writeFileSync(join(bin, 'git'), '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
  const silent = await startSilentServer();
  try {
    const begin = performance.now();
    const results = await machine.examine({
      PATH: `${bin}:${process.env.PATH ?? ''}`,
      DATABASE_URL: databaseUrl((at) => (at.host = `127.0.0.1:${silent.port}`)),
      QUEUE_URL: `redis://127.0.0.1:${silent.port}`,
      RUNNER_API_URL: `http://127.0.0.1:${silent.port}`,
    });
    expect(performance.now() - begin).toBeLessThan(12_000);
    expect(failed(results)).toEqual(['git', 'database', 'queue', 'api']);
    expect(textOf(results, 'git')).toContain('not ended within 5000 ms');
    expect(textOf(results, 'database')).toContain('does not answer');
    expect(textOf(results, 'queue')).toContain('no answer within 4000 ms');
    expect(textOf(results, 'api')).toContain('no answer within 5000 ms');
    expect(textOf(results, 'object store')).toMatch(/^ok/);
  } finally {
    await silent.close();
  }
});

describe('doctor with a broken database', () => {
  it('reports a server that does not listen', async () => {
    const url = databaseUrl((at) => {
      at.host = '127.0.0.1:9';
      at.password = 'pass-w0rd-of-a-test';
    });
    const results = await machine.examine({ DATABASE_URL: url });
    expect(failed(results)).toEqual(['database']);
    expect(textOf(results, 'database')).toMatch(/does not answer \(ECONNREFUSED\) \| Start PostgreSQL there/);
    expect(textOf(results, 'queue')).toMatch(/^skip/);
    expect(JSON.stringify(results)).not.toContain('pass-w0rd');
  });

  it('reports a wrong password', async () => {
    const results = await machine.examine({ DATABASE_URL: databaseUrl((at) => (at.password = 'wr0ng-password')) });
    expect(failed(results)).toEqual(['database']);
    expect(textOf(results, 'database')).toMatch(/rejects the user .*Fix user and password in DATABASE_URL/);
    expect(JSON.stringify(results)).not.toContain('wr0ng');
  });

  it('reports a missing database', async () => {
    const results = await machine.examine({ DATABASE_URL: databaseUrl((at) => (at.pathname = '/no_such')) });
    expect(failed(results)).toEqual(['database']);
    expect(textOf(results, 'database')).toMatch(/database not found \| .*createdb/);
  });

  it('reports a database that disappears during the check', async () => {
    const proxy = await createDatabaseProxy(machine.database.url);
    await proxy.cut();
    const results = await machine.examine({ DATABASE_URL: proxy.url });
    expect(failed(results)).toEqual(['database']);
    await proxy.close();
  });

  it('reports a database without migrations', async () => {
    const empty = await createTestDatabase();
    try {
      await empty.query('DROP SCHEMA headrace CASCADE');
      await empty.query('DROP SCHEMA bullmq CASCADE');
      const results = await machine.examine({ DATABASE_URL: empty.url });
      // The same command fixes both.
      expect(failed(results)).toEqual(['database', 'queue']);
      expect(textOf(results, 'database')).toMatch(/lacks (\d+) of \1 migrations \| headrace migrate/);
      expect(textOf(results, 'queue')).toMatch(/headrace migrate/);
    } finally {
      await empty.close();
    }
  });

  it('reports a schema that is one migration behind or ahead', async () => {
    const other = await createTestDatabase();
    try {
      await other.query(
        `INSERT INTO headrace.schema_migrations (name, checksum) VALUES ('headrace/2999-01-01-newer', '')`,
      );
      const ahead = await machine.examine({ DATABASE_URL: other.url });
      expect(failed(ahead)).toEqual([]);
      expect(textOf(ahead, 'database')).toMatch(/^warn \| .*newer version \(1 more migrations\)/);
      await other.query(
        'DELETE FROM headrace.schema_migrations WHERE id = (SELECT min(id) FROM headrace.schema_migrations)',
      );
      const behind = await machine.examine({ DATABASE_URL: other.url });
      expect(failed(behind)).toEqual(['database']);
      expect(textOf(behind, 'database')).toMatch(/lacks 1 of \d+ migrations/);
    } finally {
      await other.close();
    }
  });

  it('reports a read-only database', async () => {
    const other = await createTestDatabase();
    try {
      await other.query(
        `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`,
      );
      const results = await machine.examine({ DATABASE_URL: other.url });
      expect(failed(results)).toEqual(['database']);
      expect(textOf(results, 'database')).toMatch(/is read-only .*primary/);
    } finally {
      await other.close();
    }
  });
});

describe('doctor with a broken queue', () => {
  const REDIS = 'redis://:r3dis-password@127.0.0.1';

  it('reports a Redis that does not listen', async () => {
    const results = await machine.examine({ QUEUE_URL: `${REDIS}:9` });
    expect(failed(results)).toEqual(['queue']);
    expect(textOf(results, 'queue')).toMatch(/ECONNREFUSED.* \| Start Redis there/);
    expect(JSON.stringify(results)).not.toContain('r3dis');
  });

  it.each<[string, (received: string) => string | null, RegExp]>([
    ['rejects the password', () => '-WRONGPASS invalid username-password pair\r\n', /WRONGPASS/],
    ['answers with HTTP', () => 'HTTP/1.1 400 Bad Request\r\n\r\n', /no PONG/],
  ])('reports a Redis that %s', { timeout: 20_000 }, async (_what, greeting, expected) => {
    const server = await startSilentServer(greeting);
    try {
      const results = await machine.examine({ QUEUE_URL: `${REDIS}:${server.port}` });
      expect(failed(results)).toEqual(['queue']);
      expect(textOf(results, 'queue')).toMatch(expected);
      expect(JSON.stringify(results)).not.toContain('r3dis');
    } finally {
      await server.close();
    }
  });

  it('accepts a Redis of a supported version', async () => {
    const server = await startSilentServer(() => '+OK\r\n+PONG\r\n$22\r\nredis_version:7.2.4\r\n\r\n+OK\r\n');
    try {
      const results = await machine.examine({ QUEUE_URL: `${REDIS}:${server.port}` });
      expect(failed(results)).toEqual([]);
      expect(textOf(results, 'queue')).toContain('Redis 7.2.4');
    } finally {
      await server.close();
    }
  });

  it('reports another PostgreSQL without the schema', async () => {
    const other = await createTestDatabase();
    try {
      await other.query('DROP SCHEMA bullmq CASCADE');
      const results = await machine.examine({ QUEUE_URL: other.url });
      expect(failed(results)).toEqual(['queue']);
      expect(textOf(results, 'queue')).toContain('headrace migrate');
    } finally {
      await other.close();
    }
  });
});

describe('doctor with a broken object store', () => {
  const bucket = (
    endpoint: string,
    keys: { accessKeyId: string; secretAccessKey: string } = VERIFYING_S3_KEYS,
  ): Record<string, string> => ({
    OBJECT_STORE_URL: 's3://objects/of-ours',
    S3_ENDPOINT: endpoint,
    S3_FORCE_PATH_STYLE: 'true',
    S3_ACCESS_KEY_ID: keys.accessKeyId,
    S3_SECRET_ACCESS_KEY: keys.secretAccessKey,
  });

  it('leaves no object in a healthy bucket', async () => {
    const s3 = await startVerifyingS3('objects');
    try {
      const results = await machine.examine(bucket(s3.url));
      expect(textOf(results, 'object store')).toMatch(/^ok .*writes, reads and deletes/);
      expect(s3.bucket.objects.size).toBe(0);
    } finally {
      await s3.close();
    }
  });

  it('reports a missing bucket', async () => {
    const s3 = await startVerifyingS3('another');
    try {
      const results = await machine.examine(bucket(s3.url));
      expect(failed(results)).toEqual(['object store']);
      expect(textOf(results, 'object store')).toMatch(/no such bucket \| Fix OBJECT_STORE_URL/);
    } finally {
      await s3.close();
    }
  });

  it('reports wrong credentials', async () => {
    const s3 = await startVerifyingS3('objects');
    try {
      const wrong = {
        accessKeyId: 'SOMEBODY',
        secretAccessKey: 's3-secret-of-a-test',
      };
      const results = await machine.examine(bucket(s3.url, wrong));
      expect(failed(results)).toEqual(['object store']);
      expect(textOf(results, 'object store')).toMatch(/the credentials are wrong/);
      expect(JSON.stringify(results)).not.toContain('s3-secret-of-a-test');
    } finally {
      await s3.close();
    }
  });

  it('reports a bucket without write access', async () => {
    const s3 = await startSilentServer((received) =>
      received.startsWith('HEAD')
        ? 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'
        : 'HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n',
    );
    try {
      const results = await machine.examine(bucket(`http://127.0.0.1:${s3.port}`));
      expect(failed(results)).toEqual(['object store']);
      expect(textOf(results, 'object store')).toMatch(/does not allow to write an object .* \| Allow s3:PutObject/);
    } finally {
      await s3.close();
    }
  });

  it('reports an object store that does not answer', { timeout: 30_000 }, async () => {
    const results = await machine.examine(bucket('http://127.0.0.1:9'));
    expect(failed(results)).toEqual(['object store']);
    expect(textOf(results, 'object store')).toContain('ECONNREFUSED');
  });
});

describe('doctor with a broken machine', () => {
  it('reports a data directory that cannot be created', async () => {
    const file = join(machine.directory, 'a-file');
    writeFileSync(file, '');
    const results = await machine.examine({ HEADRACE_DATA_DIR: join(file, 'data') });
    expect(failed(results)).toContain('disk');
    expect(textOf(results, 'disk')).toMatch(/data directory .*ENOTDIR.* \| .*set HEADRACE_DATA_DIR/);
  });

  it('reports a port of another process', async () => {
    const other = await startSilentServer(() => 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    try {
      const results = await machine.examine({ INGRESS_PORT: String(other.port) });
      expect(failed(results)).toEqual(['ports']);
      expect(textOf(results, 'ports')).toMatch(/INGRESS_PORT \d+ .*used by another process \| .*set INGRESS_PORT/);
    } finally {
      await other.close();
    }
  });

  it('reports an address of another machine', async () => {
    const results = await machine.examine({ HOST: '192.0.2.1', PORT: '34567' });
    expect(failed(results)).toEqual(['ports']);
    expect(textOf(results, 'ports')).toContain('HOST 192.0.2.1 is not an address of this machine');
  });

  it('reports each invalid setting and skips the checks that need it', async () => {
    const results = await machine.examine({
      LEASE_TTL: 'soon',
      QUEUE_URL: 'ftp://jobs',
      S3_ACCESS_KEY_ID: 'half-a-pair',
      DATABASE_POOL_SIZE: '1',
    });
    expect(failed(results)).toEqual(['settings']);
    for (const name of ['LEASE_TTL', 'QUEUE_URL', 'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY', 'DATABASE_POOL_SIZE'])
      expect(textOf(results, 'settings')).toContain(`Fix ${name} in`);
    expect(textOf(results, 'queue')).toBe('skip | not checked: QUEUE_URL is invalid');
    expect(textOf(results, 'database')).toMatch(/^ok/);
  });

  class WrongClock extends Clock {
    constructor(private readonly offMs: number) {
      super();
    }
    override now(): Date {
      return new Date(Date.now() + this.offMs);
    }
  }

  it.each([
    [-120_000, 'fail', /this machine is 1\d\d\.\d s behind the database/],
    [120_000, 'fail', /this machine is 1\d\d\.\d s ahead of the database/],
    [10_000, 'warn', /this machine is \d+\.\d s ahead of the database/],
    [300, 'ok', /at most 1 s off/],
  ])('rates a clock that is %i ms off as %s', async (offMs, verdict, pattern) => {
    const results = await machine.examine({}, {}, new WrongClock(offMs));
    expect(failed(results)).toEqual(verdict === 'fail' ? ['clock'] : []);
    expect(textOf(results, 'clock')).toMatch(pattern);
    expect(textOf(results, 'clock').startsWith(verdict)).toBe(true);
    if (verdict !== 'ok') expect(textOf(results, 'clock')).toContain('NTP');
  });

  it('reports a database whose time was moved by a test', async () => {
    const other = await createTestDatabase();
    try {
      await other.advanceClock(3_600_000);
      const results = await machine.examine({ DATABASE_URL: other.url });
      expect(failed(results)).toEqual(['clock']);
      const [, statement = ''] = /: (UPDATE .*;)/.exec(textOf(results, 'clock')) ?? [];
      await other.query(statement);
      expect(failed(await machine.examine({ DATABASE_URL: other.url }))).toEqual([]);
    } finally {
      await other.close();
    }
  });
});

describe('doctor with a broken secrets key', () => {
  const OTHER_KEY = 'another-key-for-tests-0123456789abcdef';
  let sealedDatabase: Awaited<ReturnType<typeof createTestDatabase>>;

  beforeAll(async () => {
    sealedDatabase = await createTestDatabase();
    const box = new SecretBox(parseSettings({ SECRETS_KEY }));
    await sealedDatabase.query(`INSERT INTO teams (uid, name) VALUES ('aaaaaaaaaaaaaaaaaaaaaa', 'Team')`);
    await sealedDatabase.query(
      `INSERT INTO managed_secrets (team_uid, name, sealed) VALUES ('aaaaaaaaaaaaaaaaaaaaaa', 'a-secret', $1)`,
      [box.seal('t0p-secret-value', 'managed-secret/aaaaaaaaaaaaaaaaaaaaaa/a-secret')],
    );
  });
  afterAll(() => sealedDatabase.close());

  it('accepts a key that decrypts stored values', async () => {
    const results = await machine.examine({ DATABASE_URL: sealedDatabase.url });
    expect(failed(results)).toEqual([]);
    expect(textOf(results, 'secrets key')).toBe('ok | from SECRETS_KEY, decrypts stored values (1 checked)');
    expect(JSON.stringify(results)).not.toContain('t0p-secret');
  });

  it('reports another key without changing values', async () => {
    const before = await sealedDatabase.query('SELECT sealed, xmin::text FROM managed_secrets');
    const results = await machine.examine({ DATABASE_URL: sealedDatabase.url, SECRETS_KEY: OTHER_KEY });
    expect(failed(results)).toEqual(['secrets key']);
    expect(textOf(results, 'secrets key')).toMatch(
      /does not decrypt values in managed_secrets \| .*SECRETS_KEY_PREVIOUS/,
    );
    expect(JSON.stringify(results)).not.toContain(OTHER_KEY);
    expect(await sealedDatabase.query('SELECT sealed, xmin::text FROM managed_secrets')).toEqual(before);
  });

  it('accepts another key with the correct key as the previous one', async () => {
    const keys = { SECRETS_KEY: OTHER_KEY, SECRETS_KEY_PREVIOUS: SECRETS_KEY };
    expect(failed(await machine.examine({ DATABASE_URL: sealedDatabase.url, ...keys }))).toEqual([]);
  });

  it('reports a missing key for encrypted values', async () => {
    const results = await machine.examine({ DATABASE_URL: sealedDatabase.url, SECRETS_KEY: undefined });
    expect(failed(results)).toEqual(['secrets key']);
    expect(textOf(results, 'secrets key')).toMatch(/no key, but there are encrypted values in managed_secrets/);
  });

  it('reports a key file that other users can read', async () => {
    const dataDir = join(machine.directory, 'open-key');
    mkdirSync(join(dataDir, 'secrets'), { recursive: true });
    writeFileSync(join(dataDir, 'secrets/secrets-key'), `${SECRETS_KEY}\n`, { mode: 0o644 });
    const results = await machine.examine({ HEADRACE_DATA_DIR: dataDir, SECRETS_KEY: undefined });
    expect(failed(results)).toEqual([]);
    expect(textOf(results, 'secrets key')).toMatch(/warn \| other users can read .* \| chmod 600 /);
  });
});
