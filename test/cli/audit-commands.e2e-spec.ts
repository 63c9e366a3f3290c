import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { headrace } from '../support/command-line.js';

let api: TestApi;
let directory: string;
let team: string;
let owner: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team();
  owner = await api.identities.user({ [team]: 'owner' }, 'Olga');
  directory = mkdtempSync(join(tmpdir(), 'headrace-test-cli-'));
  vi.stubEnv('HEADRACE_DATA_DIR', join(directory, 'data'));
  vi.stubEnv('HEADRACE_TOKEN', owner.token);
  for (const name of ['A', 'B', 'C'])
    await api.request(200, `PUT /secrets/${name}`, { token: owner.token, body: { value: 'xxxxxxxx' } });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await api.close();
  rmSync(directory, { recursive: true, force: true });
});

const audit = (code: number, ...args: string[]) => headrace(code, 'audit', ...args, '--url', api.url);

describe('headrace audit', () => {
  it('lists entries, exports them, and verifies their chain', async () => {
    const { output } = await audit(0, 'list', '--action', 'secret.');
    expect(output.split('\n')[0]).toMatch(/^NUMBER +TIME +WHO +ACTION +TARGET +FROM$/);
    expect(output.split('\n')[1]).toMatch(/^3 +2\S+ +Olga +secret\.updated +C +127\.0\.0\.1$/);
    const lines = (await audit(0, 'export')).output.trimEnd().split('\n');
    expect(lines).toHaveLength(4);
    const { head } = JSON.parse(lines[3] ?? '') as { head: { seq: number; hash: string } };
    expect((await audit(0, 'verify', '--team', team)).output).toBe(
      `3 entries are complete and unchanged. Head: ${head.hash}\n`,
    );
    expect(JSON.parse((await audit(0, 'verify', '--json')).output)).toEqual({
      valid: true,
      entries: 3,
      head: head.hash,
    });
  });

  it('reports a changed and a removed entry', async () => {
    const { database } = api;
    const table = 'headrace.audit_log_entries';
    await database.query(`ALTER TABLE ${table} DISABLE TRIGGER ALL`);
    await database.query(`UPDATE ${table} SET entry = replace(entry, 'Olga', 'Eve') WHERE chain = $1 AND seq = 2`, [
      team,
    ]);
    expect((await audit(1, 'verify')).errors).toContain('entry 2 of the audit log is changed.');
    await database.query(`DELETE FROM ${table} WHERE chain = $1 AND seq = 2`, [team]);
    expect((await audit(1, 'verify')).errors).toContain('entry 2 of the audit log is missing.');
    await database.query(`DELETE FROM ${table} WHERE chain = $1`, [team]);
    expect((await audit(1, 'verify')).errors).toContain('entry 1 of the audit log is missing.');
  });

  it('needs permission', async () => {
    expect((await audit(1, 'verify', '--scope', 'installation')).errors).toContain(
      'administrators of the installation',
    );
    vi.stubEnv('HEADRACE_TOKEN', (await api.identities.user({ [team]: 'member' })).token);
    expect((await audit(1, 'list')).errors).toContain('You have no access to this audit log');
    vi.stubEnv('HEADRACE_TOKEN', owner.token);
  });
});

describe('headrace login-link', () => {
  it('prints a link that signs a browser in', async () => {
    const { output, errors } = await headrace(0, 'login-link', '--url', api.url);
    expect(errors).toMatch(/^The link can be used once, until /);
    const code = new URL(output.trim()).hash.replace('#code=', '');
    const response = await fetch(`${api.url}/api/v1/sessions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-headrace-console': '1' },
      body: JSON.stringify({ login_code: code }),
    });
    expect(response.status).toBe(201);
    expect((await headrace(1, 'login-link', '--user', 'a'.repeat(22), '--url', api.url)).errors).toContain('no access');
  });
});
