import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSettings } from '#platform/config';
import { Clock } from '#platform/kernel';
import { SecretBox } from '#platform/secrets';
import { createDatabaseProxy, createTestDatabase, startVerifyingS3, VERIFYING_S3_KEYS } from '#testing';
import { failed, Machine, SECRETS_KEY, told } from './examination.js';
import { startSilentServer } from './silent-server.js';

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.create();
});
afterAll(() => machine.close());

/** A URL of the test's database with something else in it. */
function databaseUrl(change: (url: URL) => void): string {
  const url = new URL(machine.database.url);
  change(url);
  return url.href;
}

describe('a healthy machine', () => {
  it('has nothing that fails', async () => {
    const findings = await machine.examine();
    expect(failed(findings)).toEqual([]);
    for (const check of ['database', 'queue', 'object store', 'secrets key', 'git', 'node', 'settings', 'clock'])
      expect(told(findings, check)).toMatch(/^ok/);
  });

  it('has nothing that fails before its first start either', async () => {
    const findings = await machine.examine({ DATABASE_URL: undefined, SECRETS_KEY: undefined });
    expect(failed(findings)).toEqual([]);
    expect(told(findings, 'database')).toMatch(/^ok \| the embedded PostgreSQL \d+, .*made at the first start/);
    expect(told(findings, 'secrets key')).toContain('generated at the first start');
  });
});

describe('a misspelt setting', () => {
  it('is reported with the setting that is meant', async () => {
    const findings = await machine.examine({ MAX_CONCURENT_RUNS: '3' });
    expect(failed(findings)).toEqual([]);
    expect(told(findings, 'settings')).toMatch(/^warn \| MAX_CONCURENT_RUNS .*MAX_CONCURRENT_RUNS/);
  });
});

describe('broken: the tools', () => {
  it('no git on PATH', async () => {
    const findings = await machine.examine({ PATH: join(machine.directory, 'nothing') });
    expect(failed(findings)).toEqual(['git']);
    expect(told(findings, 'git')).toMatch(/not on PATH \| Install git 2\.36 or newer/);
  });

  it('a git that is too old', async () => {
    const bin = join(machine.directory, 'old-git');
    mkdirSync(bin);
    writeFileSync(join(bin, 'git'), '#!/bin/sh\necho git version 2.17.1\n', { mode: 0o755 });
    const findings = await machine.examine({ PATH: bin });
    expect(failed(findings)).toEqual(['git']);
    expect(told(findings, 'git')).toMatch(/git 2\.17\.1; 2\.36 is needed/);
  });

  it('harnesses that have to be there and are not', async () => {
    const file = join(machine.directory, 'harnesses.json');
    const own = { command: 'no-such-program', install_hint: 'ask the smith' };
    writeFileSync(file, JSON.stringify({ harnesses: { 'of-ours': own, gemini: { command: 'no-gemini-either' } } }));
    const findings = await machine.examine({ HARNESSES: file }, { harnesses: ['oz', 'no-such-harness'] });
    expect(failed(findings)).toEqual(['harnesses']);
    expect(told(findings, 'harnesses')).toContain('fail | of-ours is not installed | ask the smith');
    expect(told(findings, 'harnesses')).toMatch(
      /fail \| gemini is not installed \| npm install -g @google\/gemini-cli/,
    );
    expect(told(findings, 'harnesses')).toContain('fail | no-such-harness is not known');
  });

  it('a HARNESSES file of no use', async () => {
    const file = join(machine.directory, 'harnesses-broken.json');
    writeFileSync(file, '{"harnesses": {"own": {"args": 7}}}');
    const findings = await machine.examine({ HARNESSES: file });
    expect(failed(findings)).toEqual(['harnesses']);
    expect(told(findings, 'harnesses')).toMatch(/HARNESSES, harnesses\.own\.args.* \| Mend .*harnesses-broken\.json/);
  });

  it('a container engine that is not there, and one that is something else', async () => {
    const socket = join(machine.directory, 'engine.sock');
    const absent = await machine.examine({ EXECUTOR: 'docker', DOCKER_HOST: `unix://${socket}` });
    expect(failed(absent)).toEqual(['executor']);
    expect(told(absent, 'executor')).toMatch(/does not answer \(.*ENOENT.*\) \| Start it/);
    const other = await startSilentServer(() => 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
    try {
      const findings = await machine.examine({ EXECUTOR: 'docker', DOCKER_HOST: `tcp://127.0.0.1:${other.port}` });
      expect(failed(findings)).toEqual(['executor']);
      expect(told(findings, 'executor')).toContain('not a Docker Engine');
    } finally {
      await other.close();
    }
  });
});

it('what hangs holds up nothing else', { timeout: 20_000 }, async () => {
  const bin = join(machine.directory, 'slow-git');
  mkdirSync(bin);
  writeFileSync(join(bin, 'git'), '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
  const silent = await startSilentServer();
  try {
    const begin = performance.now();
    const findings = await machine.examine({
      PATH: `${bin}:${process.env.PATH ?? ''}`,
      DATABASE_URL: databaseUrl((at) => (at.host = `127.0.0.1:${silent.port}`)),
      QUEUE_URL: `redis://127.0.0.1:${silent.port}`,
      RUNNER_API_URL: `http://127.0.0.1:${silent.port}`,
    });
    expect(performance.now() - begin).toBeLessThan(12_000);
    expect(failed(findings)).toEqual(['git', 'database', 'queue', 'api']);
    expect(told(findings, 'git')).toContain('no end within 5000 ms');
    expect(told(findings, 'database')).toContain('does not answer');
    expect(told(findings, 'queue')).toContain('no answer within 4000 ms');
    expect(told(findings, 'api')).toContain('no answer within 5000 ms');
    expect(told(findings, 'object store')).toMatch(/^ok/);
  } finally {
    await silent.close();
  }
});

describe('broken: the database', () => {
  it('nobody listens', async () => {
    const url = databaseUrl((at) => {
      at.host = '127.0.0.1:9';
      at.password = 'pass-w0rd-of-a-test';
    });
    const findings = await machine.examine({ DATABASE_URL: url });
    expect(failed(findings)).toEqual(['database']);
    expect(told(findings, 'database')).toMatch(/does not answer \(ECONNREFUSED\) \| Start PostgreSQL there/);
    expect(told(findings, 'queue')).toMatch(/^skip/);
    expect(JSON.stringify(findings)).not.toContain('pass-w0rd');
  });

  it('a wrong password', async () => {
    const findings = await machine.examine({ DATABASE_URL: databaseUrl((at) => (at.password = 'wr0ng-password')) });
    expect(failed(findings)).toEqual(['database']);
    expect(told(findings, 'database')).toMatch(/refuses the user .*Mend user and password in DATABASE_URL/);
    expect(JSON.stringify(findings)).not.toContain('wr0ng');
  });

  it('no such database', async () => {
    const findings = await machine.examine({ DATABASE_URL: databaseUrl((at) => (at.pathname = '/no_such')) });
    expect(failed(findings)).toEqual(['database']);
    expect(told(findings, 'database')).toMatch(/no such database \| .*createdb/);
  });

  it('one that goes away in the middle is reported and not thrown', async () => {
    const proxy = await createDatabaseProxy(machine.database.url);
    await proxy.cut();
    const findings = await machine.examine({ DATABASE_URL: proxy.url });
    expect(failed(findings)).toEqual(['database']);
    await proxy.close();
  });

  it('not migrated', async () => {
    const empty = await createTestDatabase();
    try {
      await empty.query('DROP SCHEMA headrace CASCADE');
      await empty.query('DROP SCHEMA bullmq CASCADE');
      const findings = await machine.examine({ DATABASE_URL: empty.url });
      // Both are mended by the same command.
      expect(failed(findings)).toEqual(['database', 'queue']);
      expect(told(findings, 'database')).toMatch(/lacks (\d+) of \1 migrations \| headrace migrate/);
      expect(told(findings, 'queue')).toMatch(/headrace migrate/);
    } finally {
      await empty.close();
    }
  });

  it('one migration behind, and one ahead', async () => {
    const other = await createTestDatabase();
    try {
      await other.query(
        `INSERT INTO headrace.schema_migrations (name, checksum) VALUES ('headrace/2999-01-01-newer', '')`,
      );
      const ahead = await machine.examine({ DATABASE_URL: other.url });
      expect(failed(ahead)).toEqual([]);
      expect(told(ahead, 'database')).toMatch(/^warn \| .*newer version \(1 migrations more\)/);
      await other.query(
        'DELETE FROM headrace.schema_migrations WHERE id = (SELECT min(id) FROM headrace.schema_migrations)',
      );
      const behind = await machine.examine({ DATABASE_URL: other.url });
      expect(failed(behind)).toEqual(['database']);
      expect(told(behind, 'database')).toMatch(/lacks 1 of \d+ migrations/);
    } finally {
      await other.close();
    }
  });

  it('read only', async () => {
    const other = await createTestDatabase();
    try {
      await other.query(
        `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`,
      );
      const findings = await machine.examine({ DATABASE_URL: other.url });
      expect(failed(findings)).toEqual(['database']);
      expect(told(findings, 'database')).toMatch(/takes no writes .*primary/);
    } finally {
      await other.close();
    }
  });
});

describe('broken: the queue', () => {
  const REDIS = 'redis://:r3dis-password@127.0.0.1';

  it('a Redis that nobody listens for', async () => {
    const findings = await machine.examine({ QUEUE_URL: `${REDIS}:9` });
    expect(failed(findings)).toEqual(['queue']);
    expect(told(findings, 'queue')).toMatch(/ECONNREFUSED.* \| Start Redis there/);
    expect(JSON.stringify(findings)).not.toContain('r3dis');
  });

  it.each<[string, (received: string) => string | null, RegExp]>([
    ['refuses the password', () => '-WRONGPASS invalid username-password pair\r\n', /WRONGPASS/],
    ['is something else', () => 'HTTP/1.1 400 Bad Request\r\n\r\n', /no PONG/],
  ])('a Redis that %s', { timeout: 20_000 }, async (_what, greeting, told_) => {
    const server = await startSilentServer(greeting);
    try {
      const findings = await machine.examine({ QUEUE_URL: `${REDIS}:${server.port}` });
      expect(failed(findings)).toEqual(['queue']);
      expect(told(findings, 'queue')).toMatch(told_);
      expect(JSON.stringify(findings)).not.toContain('r3dis');
    } finally {
      await server.close();
    }
  });

  it('accepts a Redis of a supported version', async () => {
    const server = await startSilentServer(() => '+OK\r\n+PONG\r\n$22\r\nredis_version:7.2.4\r\n\r\n+OK\r\n');
    try {
      const findings = await machine.examine({ QUEUE_URL: `${REDIS}:${server.port}` });
      expect(failed(findings)).toEqual([]);
      expect(told(findings, 'queue')).toContain('Redis 7.2.4');
    } finally {
      await server.close();
    }
  });

  it('another PostgreSQL, without the schema', async () => {
    const other = await createTestDatabase();
    try {
      await other.query('DROP SCHEMA bullmq CASCADE');
      const findings = await machine.examine({ QUEUE_URL: other.url });
      expect(failed(findings)).toEqual(['queue']);
      expect(told(findings, 'queue')).toContain('headrace migrate');
    } finally {
      await other.close();
    }
  });
});

describe('broken: the object store', () => {
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

  it('a bucket that is as it should be leaves nothing behind', async () => {
    const s3 = await startVerifyingS3('objects');
    try {
      const findings = await machine.examine(bucket(s3.url));
      expect(told(findings, 'object store')).toMatch(/^ok .*writes, reads and deletes/);
      expect(s3.bucket.objects.size).toBe(0);
    } finally {
      await s3.close();
    }
  });

  it('no such bucket', async () => {
    const s3 = await startVerifyingS3('another');
    try {
      const findings = await machine.examine(bucket(s3.url));
      expect(failed(findings)).toEqual(['object store']);
      expect(told(findings, 'object store')).toMatch(/no such bucket \| Mend OBJECT_STORE_URL/);
    } finally {
      await s3.close();
    }
  });

  it('one that refuses us', async () => {
    const s3 = await startVerifyingS3('objects');
    try {
      const wrong = {
        accessKeyId: 'SOMEBODY',
        secretAccessKey: 's3-secret-of-a-test',
      };
      const findings = await machine.examine(bucket(s3.url, wrong));
      expect(failed(findings)).toEqual(['object store']);
      expect(told(findings, 'object store')).toMatch(/the credentials are wrong/);
      expect(JSON.stringify(findings)).not.toContain('s3-secret-of-a-test');
    } finally {
      await s3.close();
    }
  });

  it('one that lets us look and not write', async () => {
    const s3 = await startSilentServer((received) =>
      received.startsWith('HEAD')
        ? 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'
        : 'HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n',
    );
    try {
      const findings = await machine.examine(bucket(`http://127.0.0.1:${s3.port}`));
      expect(failed(findings)).toEqual(['object store']);
      expect(told(findings, 'object store')).toMatch(/does not let us write an object .* \| Allow s3:PutObject/);
    } finally {
      await s3.close();
    }
  });

  it('nobody answers', { timeout: 30_000 }, async () => {
    const findings = await machine.examine(bucket('http://127.0.0.1:9'));
    expect(failed(findings)).toEqual(['object store']);
    expect(told(findings, 'object store')).toContain('ECONNREFUSED');
  });
});

describe('broken: the machine', () => {
  it('a data directory that cannot be made', async () => {
    const file = join(machine.directory, 'a-file');
    writeFileSync(file, '');
    const findings = await machine.examine({ HEADRACE_DATA_DIR: join(file, 'data') });
    expect(failed(findings)).toContain('disk');
    expect(told(findings, 'disk')).toMatch(/data directory .*ENOTDIR.* \| .*set HEADRACE_DATA_DIR/);
  });

  it('a port that somebody else has', async () => {
    const other = await startSilentServer(() => 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    try {
      const findings = await machine.examine({ INGRESS_PORT: String(other.port) });
      expect(failed(findings)).toEqual(['ports']);
      expect(told(findings, 'ports')).toMatch(/INGRESS_PORT \d+ .*taken by another process \| .*set INGRESS_PORT/);
    } finally {
      await other.close();
    }
  });

  it('an address that is none of this machine', async () => {
    const findings = await machine.examine({ HOST: '192.0.2.1', PORT: '34567' });
    expect(failed(findings)).toEqual(['ports']);
    expect(told(findings, 'ports')).toContain('HOST 192.0.2.1 is no address of this machine');
  });

  it('settings that are wrong, each named, and what relies on them left out', async () => {
    const findings = await machine.examine({
      LEASE_TTL: 'soon',
      QUEUE_URL: 'ftp://jobs',
      S3_ACCESS_KEY_ID: 'half-a-pair',
      DATABASE_POOL_SIZE: '1',
    });
    expect(failed(findings)).toEqual(['settings']);
    for (const name of ['LEASE_TTL', 'QUEUE_URL', 'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY', 'DATABASE_POOL_SIZE'])
      expect(told(findings, 'settings')).toContain(`Mend ${name} in`);
    expect(told(findings, 'queue')).toBe('skip | not looked at: QUEUE_URL is wrong');
    expect(told(findings, 'database')).toMatch(/^ok/);
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
  ])('a clock that is %i ms off: %s', async (offMs, verdict, pattern) => {
    const findings = await machine.examine({}, {}, new WrongClock(offMs));
    expect(failed(findings)).toEqual(verdict === 'fail' ? ['clock'] : []);
    expect(told(findings, 'clock')).toMatch(pattern);
    expect(told(findings, 'clock').startsWith(verdict)).toBe(true);
    if (verdict !== 'ok') expect(told(findings, 'clock')).toContain('NTP');
  });

  it('a database whose time a test has moved', async () => {
    const other = await createTestDatabase();
    try {
      await other.advanceClock(3_600_000);
      const findings = await machine.examine({ DATABASE_URL: other.url });
      expect(failed(findings)).toEqual(['clock']);
      const [, statement = ''] = /: (UPDATE .*;)/.exec(told(findings, 'clock')) ?? [];
      await other.query(statement);
      expect(failed(await machine.examine({ DATABASE_URL: other.url }))).toEqual([]);
    } finally {
      await other.close();
    }
  });
});

describe('broken: the secrets key', () => {
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

  it('the right one opens what is stored', async () => {
    const findings = await machine.examine({ DATABASE_URL: sealedDatabase.url });
    expect(failed(findings)).toEqual([]);
    expect(told(findings, 'secrets key')).toBe('ok | from SECRETS_KEY, opens what is stored (1 values tried)');
    expect(JSON.stringify(findings)).not.toContain('t0p-secret');
  });

  it('another one does not, and changes nothing', async () => {
    const before = await sealedDatabase.query('SELECT sealed, xmin::text FROM managed_secrets');
    const findings = await machine.examine({ DATABASE_URL: sealedDatabase.url, SECRETS_KEY: OTHER_KEY });
    expect(failed(findings)).toEqual(['secrets key']);
    expect(told(findings, 'secrets key')).toMatch(/does not open values in managed_secrets \| .*SECRETS_KEY_PREVIOUS/);
    expect(JSON.stringify(findings)).not.toContain(OTHER_KEY);
    expect(await sealedDatabase.query('SELECT sealed, xmin::text FROM managed_secrets')).toEqual(before);
  });

  it('another one with the right one as the previous', async () => {
    const keys = { SECRETS_KEY: OTHER_KEY, SECRETS_KEY_PREVIOUS: SECRETS_KEY };
    expect(failed(await machine.examine({ DATABASE_URL: sealedDatabase.url, ...keys }))).toEqual([]);
  });

  it('none, where values are sealed', async () => {
    const findings = await machine.examine({ DATABASE_URL: sealedDatabase.url, SECRETS_KEY: undefined });
    expect(failed(findings)).toEqual(['secrets key']);
    expect(told(findings, 'secrets key')).toMatch(/there is none, but there are sealed values in managed_secrets/);
  });

  it('a key file that others may read', async () => {
    const dataDir = join(machine.directory, 'open-key');
    mkdirSync(join(dataDir, 'secrets'), { recursive: true });
    writeFileSync(join(dataDir, 'secrets/secrets-key'), `${SECRETS_KEY}\n`, { mode: 0o644 });
    const findings = await machine.examine({ HEADRACE_DATA_DIR: dataDir, SECRETS_KEY: undefined });
    expect(failed(findings)).toEqual([]);
    expect(told(findings, 'secrets key')).toMatch(/warn \| others may read .* \| chmod 600 /);
  });
});
