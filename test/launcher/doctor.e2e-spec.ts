import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  checkout,
  connectionOf,
  environment,
  isRoot,
  Launched,
  NOBODY,
  removeDir,
  start,
  temporaryDir,
  type Account,
} from './launched.js';

interface Report {
  ok: boolean;
  checks: { check: string; verdict: string; found: string; fix?: string[] }[];
}

let directory = '';
let dataDir = '';

beforeAll(() => {
  directory = temporaryDir();
  dataDir = join(directory, 'data');
});
afterAll(() => removeDir(directory));

async function doctor(
  args: readonly string[],
  settings: Record<string, string> = {},
  account?: Account,
): Promise<{ code: number | string; output: string }> {
  const launched = new Launched(process.execPath, [join(checkout, 'bin/headrace.mjs'), 'doctor', ...args], {
    cwd: directory,
    // No process listens on this port, so that no unrelated service is checked.
    env: environment(dataDir, { RUNNER_API_URL: 'http://127.0.0.1:9', ...settings }),
    ...account,
  });
  return { code: await launched.exit, output: launched.output };
}

const failures = (output: string): string[] =>
  (JSON.parse(output) as Report).checks.filter(({ verdict }) => verdict === 'fail').map(({ check }) => check);

describe('headrace doctor', { timeout: 120_000 }, () => {
  it(
    'reports no failure before the first start, while Headrace runs, and after it has stopped',
    { timeout: 120_000 },
    async () => {
      const before = await doctor([]);
      expect(before).toMatchObject({ code: 0, output: expect.stringContaining('Nothing failed') });

      const launched = start(dataDir);
      await launched.says(/Ctrl-C stops it\./);
      const { base_url, service_account_token, token } = connectionOf(dataDir);
      const during = await doctor(['--json'], { HEADRACE_TOKEN: service_account_token });
      expect(during.code).toBe(0);
      const found = (name: string): string | undefined =>
        (JSON.parse(during.output) as Report).checks.find(({ check }) => check === name)?.found;
      expect(found('database')).toMatch(
        /^the embedded PostgreSQL \d+ at postgresql:\/\/\/\S+:5432\/headrace, \d+ migr/,
      );
      expect(found('secrets key')).toContain('decrypts stored values');
      expect(found('api')).toBe(`${base_url.replace('/api/v1', '')} is ready`);
      expect(found('clock')).toContain('that of the database');
      for (const secret of [service_account_token, token]) expect(during.output).not.toContain(secret);

      launched.signal('SIGTERM');
      expect(await launched.exit).toBe(0);
      expect((await doctor([])).code).toBe(0);
    },
  );

  it('reports failures and fixes without secrets and exits with 1', async () => {
    const { code, output } = await doctor([], {
      DATABASE_URL: 'postgresql://headrace:pass-w0rd@127.0.0.1:9/headrace',
      SECRETS_KEY: 't00-short',
    });
    expect(code).toBe(1);
    expect(output).toMatch(
      /^database +fail +postgresql:\/\/127\.0\.0\.1:9\/headrace does not answer \(ECONNREFUSED\)$/m,
    );
    expect(output).toMatch(/^ {2}database \(fail\)\n {4}Start PostgreSQL there/m);
    expect(output).toMatch(/^settings +fail +SECRETS_KEY must have at least 32 characters$/m);
    expect(output).toContain('2 failed');
    for (const secret of ['pass-w0rd', 't00-short']) expect(output).not.toContain(secret);
  });

  it.runIf(isRoot)('reports a data directory that the current user cannot write to', async () => {
    const closed = join(directory, 'closed');
    mkdirSync(closed, { mode: 0o755 });
    chmodSync(closed, 0o755);
    const { code, output } = await doctor(
      ['--json'],
      { HEADRACE_DATA_DIR: closed, HOME: '/' },
      { uid: NOBODY, gid: NOBODY },
    );
    expect(code).toBe(1);
    expect(failures(output)).toEqual(['disk']);
    expect(output).toMatch(/Make it writable for user 65534, or set HEADRACE_DATA_DIR/);
  });

  it('prints its usage and exits with 2 after an unknown option', async () => {
    expect(await doctor(['--wrong'])).toMatchObject({
      code: 2,
      output: expect.stringContaining('Usage: headrace doctor'),
    });
  });
});
