import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Environment, parseSettings, RENAMED_SETTINGS, SettingsError, withSettings } from './parse-settings.js';
import type { SettingDefinition } from './setting-kinds.js';
import { SETTINGS } from './settings.js';

function problemsOf(environment: Environment): readonly string[] {
  try {
    parseSettings(environment);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

describe('an empty environment', () => {
  it('results in a complete, frozen object with the documented defaults', () => {
    const settings = parseSettings({});
    expect(settings).toMatchObject({
      port: 3000,
      ingressPort: 3001,
      host: '127.0.0.1',
      dataDir: resolve('.headrace'),
      leaseTtl: 90_000,
      requestTimeout: 30_000,
    });
    expect(settings.databaseUrl).toBeUndefined();
    expect(Object.isFrozen(settings)).toBe(true);
  });

  it('accepts every default', () => {
    for (const { kind } of Object.values<SettingDefinition<unknown>>(SETTINGS)) {
      expect(() => kind.parse(kind.defaultText), kind.shape).not.toThrow();
    }
  });

  it.each([
    [{ MAX_CONCURRENT_RUNS: '10' }, 5],
    [{ MAX_CONCURRENT_RUNS: '5' }, 3],
    [{ MAX_CONCURRENT_RUNS: '1' }, 1],
    [{ MAX_CONCURRENT_RUNS: '10', MAX_CONCURRENT_RUNS_PER_TEAM: '10' }, 10],
  ])('%j limits one owner to %i slots, half of all unless it is set', (environment, slots) => {
    expect(parseSettings(environment).maxConcurrentRunsPerTeam).toBe(slots);
  });

  it('treats an empty or blank value as unset', () => {
    expect(parseSettings({ PORT: '', DATABASE_URL: '  ' })).toMatchObject({ port: 3000, databaseUrl: undefined });
  });
});

describe('OBJECT_STORE_URL', () => {
  it.each([
    ['s3://bucket', { bucket: 'bucket', prefix: '' }],
    ['s3://my.bucket-1/a/B_c.d/', { bucket: 'my.bucket-1', prefix: 'a/B_c.d' }],
    ['', undefined],
  ])('parses %j as %j', (url, expected) => {
    expect(parseSettings({ OBJECT_STORE_URL: url }).objectStoreUrl).toEqual(expected);
  });

  it.each([
    'bucket',
    'https://bucket',
    's3://',
    's3://B',
    's3://bucket/../x',
    's3://bucket//x',
    's3://k:s@bucket',
    's3://bucket/a?b',
  ])('rejects %s', (url) => {
    expect(problemsOf({ OBJECT_STORE_URL: url })).toEqual([expect.stringContaining('must be s3://bucket')]);
  });

  it('requires both keys or none, without showing a value', () => {
    const problems = problemsOf({ S3_SECRET_ACCESS_KEY: 'very-secret' });
    expect(problems).toEqual(['S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY must be set together.']);
  });
});

describe('OIDC_GROUP_ROLES', () => {
  const entry = { group: 'a, b=c', team: 'x'.repeat(22), role: 'member' };

  it('is JSON, because names of groups may contain any character', () => {
    expect(parseSettings({ OIDC_GROUP_ROLES: JSON.stringify([entry]) }).oidcGroupRoles).toEqual([entry]);
    expect(parseSettings({}).oidcGroupRoles).toEqual([]);
  });

  it.each([
    ['engineers=member', 'OIDC_GROUP_ROLES must be valid JSON'],
    ['{}', 'OIDC_GROUP_ROLES must be a JSON array'],
    ['[7]', 'OIDC_GROUP_ROLES entry 1 must have a group'],
    [JSON.stringify([entry, { ...entry, role: 'king' }]), 'OIDC_GROUP_ROLES entry 2 must have a role, one of owner'],
    [JSON.stringify([{ ...entry, team: 'Builders' }]), 'OIDC_GROUP_ROLES entry 1 must have a team'],
    [JSON.stringify([{ ...entry, teams: [] }]), 'OIDC_GROUP_ROLES entry 1 must have only'],
  ])('rejects %s', (value, problem) => {
    expect(problemsOf({ OIDC_GROUP_ROLES: value })).toEqual([expect.stringContaining(problem)]);
  });
});

describe('OIDC_ISSUER', () => {
  it.each(['https://id.example/realm/', 'http://127.0.0.1:8080', 'http://localhost/x'])(
    'is kept as it is: %s',
    (url) => {
      expect(parseSettings({ OIDC_ISSUER: url, OIDC_CLIENT_ID: 'a' }).oidcIssuer).toBe(url);
    },
  );

  it.each(['http://id.example', 'id.example', 'https://user@id.example', 'https://id.example/?a'])(
    'rejects %s',
    (url) => {
      expect(problemsOf({ OIDC_ISSUER: url, OIDC_CLIENT_ID: 'a' })).toHaveLength(1);
    },
  );

  it('needs the client id', () => {
    expect(problemsOf({ OIDC_ISSUER: 'https://id.example' })).toEqual([
      'OIDC_ISSUER and OIDC_CLIENT_ID must be set together.',
    ]);
  });
});

describe('RETENTION_RUNS', () => {
  it.each([
    ['', undefined],
    ['0', undefined],
    ['1h', 3_600_000],
    ['90d', 90 * 86_400_000],
  ])('parses %j as %j', (value, expected) => {
    expect(parseSettings({ RETENTION_RUNS: value }).retainRuns).toBe(expected);
  });

  it.each(['5min', '-1d', '30', 'forever'])('rejects %s', (value) => {
    expect(problemsOf({ RETENTION_RUNS: value })).toHaveLength(1);
  });
});

describe('public addresses', () => {
  it.each([
    [{ PORT: '8080', INGRESS_PORT: '8081' }, 'http://127.0.0.1:8080', 'http://127.0.0.1:8081'],
    [{ HOST: '0.0.0.0' }, 'http://127.0.0.1:3000', 'http://127.0.0.1:3001'],
    [{ HOST: '::1' }, 'http://[::1]:3000', 'http://[::1]:3001'],
    [{ HOST: 'box.example' }, 'http://box.example:3000', 'http://box.example:3001'],
  ])('are derived from host and port: %j', (environment, publicUrl, ingressPublicUrl) => {
    expect(parseSettings(environment)).toMatchObject({ publicUrl, ingressPublicUrl, runnerApiUrl: publicUrl });
  });

  it('use https with a certificate', () => {
    const directory = mkdtempSync(join(tmpdir(), 'headrace-config-'));
    const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
    writeFileSync(cert, '');
    writeFileSync(key, '');
    expect(parseSettings({ TLS_CERT_FILE: cert, TLS_KEY_FILE: key }).publicUrl).toBe('https://127.0.0.1:3000');
    rmSync(directory, { recursive: true });
  });

  it('are used as given, without a trailing slash, when they are set', () => {
    expect(parseSettings({ PUBLIC_URL: 'https://runs.example/' }).publicUrl).toBe('https://runs.example');
  });
});

describe('invalid settings', () => {
  it.each([
    ['PORT', '65536', 'PORT must be an integer between 0 and 65535.'],
    ['PORT', '3e3', 'PORT must be an integer between 0 and 65535.'],
    ['PORT', '-1', 'PORT must be an integer between 0 and 65535.'],
    ['HOST', 'http://localhost', 'HOST must be an IP address or a host name, without scheme and port.'],
    ['PUBLIC_URL', 'runs.example', 'PUBLIC_URL must be a URL that starts with http:// or https://.'],
    ['PUBLIC_URL', 'https://runs.example/?a=1', 'PUBLIC_URL must not contain a query, fragment, user or password.'],
    ['TRUSTED_PROXIES', '10.0.0.0/33', 'TRUSTED_PROXIES must be IP addresses or CIDR ranges such as 10.0.0.0/8.'],
    ['DATABASE_URL', 'mysql://db/x', 'DATABASE_URL must be a URL that starts with postgres:// or postgresql://.'],
    [
      'QUEUE_URL',
      'amqp://q',
      'QUEUE_URL must be a URL that starts with redis:// or rediss:// or postgres:// or postgresql://.',
    ],
    ['HARNESSES_FILE', '/no/such/file.json', 'HARNESSES_FILE must be the path of a readable file.'],
    [
      'HARNESSES_FILE',
      'no-such-file.json',
      `HARNESSES_FILE must be the path of a readable file; a relative path begins at ${process.cwd()}.`,
    ],
    ['LOG_LEVEL', 'verbose', 'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent.'],
    ['LEASE_TTL', '90', 'LEASE_TTL must be a number with a unit, such as 250ms, 90s, 10min or 24h.'],
    ['LEASE_TTL', '500ms', 'LEASE_TTL must be between 1s and 10min.'],
    ['HEADRACE_TEST_CLOCK', 'yes', 'HEADRACE_TEST_CLOCK must be true or false.'],
    ['SECRETS_KEY', 'short', 'SECRETS_KEY must have at least 32 characters.'],
    [
      'SECRETS_KEY_PREVIOUS',
      `${'x'.repeat(32)},short`,
      'SECRETS_KEY_PREVIOUS must have at least 32 characters in each key.',
    ],
  ])('reports %s=%s with the rule that it violates', (name, value, problem) => {
    expect(problemsOf({ [name]: value })).toEqual([problem]);
  });

  it('are all reported at once', () => {
    const problems = problemsOf({
      PORT: 'x',
      LEASE_TTL: 'soon',
      LOG_LEVEL: 'loud',
      HOST: 'a b',
    });
    expect(problems.map((line) => line.split(' ')[0])).toEqual(['HOST', 'PORT', 'LOG_LEVEL', 'LEASE_TTL']);
    expect(() => parseSettings({ PORT: 'x', LOG_LEVEL: 'loud' })).toThrow(
      /2 invalid setting\(s\)\.\n {2}- PORT .*\n {2}- LOG_LEVEL /,
    );
  });

  it('include combinations that contradict each other', () => {
    expect(problemsOf({ PORT: '4000', INGRESS_PORT: '4000' })).toEqual([
      'PORT and INGRESS_PORT must differ: the ingress has its own listener.',
    ]);
    expect(problemsOf({ PORT: '0', INGRESS_PORT: '0' })).toEqual([]);
    expect(problemsOf({ TLS_CERT_FILE: process.execPath })).toEqual([
      'TLS_CERT_FILE and TLS_KEY_FILE must be set together.',
    ]);
  });

  it('are reported without their values, which may be secrets', () => {
    const secret = 'hunter2';
    const everywhere = Object.fromEntries(
      Object.values<SettingDefinition<unknown>>(SETTINGS).map(({ env }) => [env, `x://u:${secret}@ /?${secret}`]),
    );
    const problems = problemsOf(everywhere);
    expect(problems.length).toBeGreaterThan(20);
    expect(problems.join('\n')).not.toContain(secret);
  });
});

describe('renamed settings', () => {
  it('are all reported at once with their new names', () => {
    const everyOldName = Object.fromEntries(Object.keys(RENAMED_SETTINGS).map((name) => [name, '1']));
    expect(problemsOf(everyOldName)).toEqual(
      Object.entries(RENAMED_SETTINGS).map(([name, current]) => `${name} was renamed to ${current}.`),
    );
    expect(problemsOf({ CANCEL_STEP: '2s' })).toEqual(['CANCEL_STEP was renamed to CANCEL_ESCALATION_DELAY.']);
  });

  it('name existing settings, and no setting has an old name', () => {
    const known: readonly string[] = Object.values(SETTINGS).map(({ env }) => env);
    for (const [name, current] of Object.entries(RENAMED_SETTINGS)) {
      expect(known).toContain(current);
      expect(known).not.toContain(name);
    }
  });

  it('are ignored when they are empty', () => {
    expect(problemsOf({ HARNESSES: ' ' })).toEqual([]);
  });
});

describe('withSettings', () => {
  it('returns a new frozen object with the changes', () => {
    const before = parseSettings({});
    const after = withSettings(before, { port: 4711 });
    expect([before.port, after.port, after.host, Object.isFrozen(after)]).toEqual([3000, 4711, '127.0.0.1', true]);
  });
});
