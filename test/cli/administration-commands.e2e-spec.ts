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
  team = await api.identities.team('Payments');
  owner = await api.identities.user({ [team]: 'owner' }, 'Olga');
  directory = mkdtempSync(join(tmpdir(), 'headrace-test-cli-'));
  vi.stubEnv('HEADRACE_DATA_DIR', join(directory, 'data'));
  vi.stubEnv('DATABASE_URL', api.database.url);
  vi.stubEnv('HEADRACE_URL', api.url);
  vi.stubEnv('HEADRACE_TOKEN', owner.token);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await api.close();
  rmSync(directory, { recursive: true, force: true });
});

const printed = async (...args: string[]): Promise<string> => (await headrace(0, ...args)).output.trim();
const json = async (...args: string[]) => JSON.parse(await printed(...args, '--json'));
const verified = (...args: string[]) => printed('audit', 'verify', ...args);

describe('headrace administrator', () => {
  it('creates the first administrator next to the database, with entries in the audit log', async () => {
    vi.stubEnv('HEADRACE_TOKEN', '');
    const created = await headrace(0, 'administrator', 'create', 'site@example.test', '--name', 'Site');
    expect(created.errors).toContain('it is returned only once');
    const token = created.output.trim();
    vi.stubEnv('HEADRACE_TOKEN', token);
    expect((await api.request(200, 'GET /me', { token })).body).toMatchObject({
      ...{ display_name: 'Site', is_administrator: true },
    });
    const { uid } = (await api.request(200, 'GET /me', { token })).body;
    // All tokens are lost, and the user is disabled.
    await api.database.query('UPDATE headrace.tokens SET revoked_at = now() WHERE user_uid = $1', [uid]);
    await api.database.query('UPDATE headrace.users SET disabled_at = now() WHERE uid = $1', [uid]);
    expect((await headrace(1, 'administrator', 'token', uid)).errors).toContain('is disabled');
    const again = await json('administrator', 'create', 'SITE@example.test');
    expect(again.user_uid).toBe(uid);
    await api.database.query('UPDATE headrace.users SET is_email_verified = false WHERE uid = $1', [uid]);
    expect((await headrace(1, 'administrator', 'create', 'site@example.test')).errors).toContain('nobody has verified');
    await api.database.query('UPDATE headrace.users SET is_email_verified = true WHERE uid = $1', [uid]);
    expect((await headrace(1, 'administrator', 'token', owner.uid)).errors).toContain('is not an administrator');
    expect((await headrace(1, 'administrator', 'token', 'a@b.test')).errors).toContain('not found');
    vi.stubEnv('HEADRACE_TOKEN', await printed('administrator', 'token', 'site@example.test', '--expires', '1h'));
    const { entries } = (
      await api.request(200, 'GET /audit-log?scope=installation', { token: process.env.HEADRACE_TOKEN ?? '' })
    ).body;
    expect(entries.map(({ action }: { action: string }) => action)).toEqual([
      ...['token.created', 'token.created', 'user.updated', 'token.created', 'user.created'],
    ]);
    for (const { actor } of entries) expect(actor).toEqual({ type: 'command_line', name: expect.any(String) });
    expect(JSON.stringify(entries)).not.toContain(token);
    expect(await verified('--scope', 'installation')).toMatch(/^5 entries are complete/);
  });
});

describe('administration over the API', () => {
  it('creates teams and users, and changes and lists members', async () => {
    const ada = await printed('user', 'create', 'ada@example.test', '--name', 'Ada');
    expect((await headrace(1, 'user', 'create', 'ada@example.test')).errors).toContain('exists already');
    expect(await json('user', 'create', 'boss@example.test', '--administrator')).toMatchObject({
      is_administrator: true,
    });
    const search = await printed('team', 'create', 'Search', '--owner', ada, '--max-concurrent-runs', '3');
    expect(await printed('team', 'list', '--all')).toMatch(new RegExp(`^${search} +Search +3 `, 'm'));
    expect(await printed('team', 'update', search, '--max-concurrent-runs', 'none', '--schedules', 'off')).toMatch(
      new RegExp(`^${search} +Search +- +- +- +on +off `, 'm'),
    );
    expect(await printed('user', 'list')).toMatch(/^\w{22} +ada@example\.test +Ada +owner of /m);
    await printed('user', 'add', 'ADA@example.test', '--team', team, '--role', 'viewer');
    expect(await printed('user', 'list', '--team', team)).toMatch(/ada@example\.test +Ada +viewer /);
    expect((await headrace(1, 'user', 'remove', owner.uid, '--team', team)).errors).toContain('last owner');
    await printed('user', 'remove', ada, '--team', team);
    await printed('user', 'disable', 'ada@example.test');
    expect(await printed('user', 'list')).toMatch(/ada@example\.test.*Z +\d{4}-\S+Z$/m);
    await printed('user', 'enable', ada);
    expect((await headrace(1, 'user', 'disable', 'nobody@example.test')).errors).toContain('not found');
    expect(await verified('--scope', 'installation')).toContain('complete');
  });

  it('creates, lists and revokes invitations, service accounts and tokens as an owner of a team', async () => {
    vi.stubEnv('HEADRACE_TOKEN', owner.token);
    expect((await headrace(1, 'user', 'list')).errors).toContain('administrators of the installation');
    expect(await printed('invitation', 'create', 'lin@example.test')).toMatch(/\/console\/invitation#code=hi_\w{43}$/);
    const [invitation] = await json('invitation', 'list');
    expect(invitation).toMatchObject({ email: 'lin@example.test', role: 'member' });
    await printed('invitation', 'revoke', invitation.uid, '--team', team);
    expect(await json('invitation', 'list')).toEqual([]);
    const bot = await printed('service-account', 'create', 'bot');
    expect(await printed('service-account', 'list')).toMatch(new RegExp(`^${bot} +bot +no `, 'm'));
    const token = await printed('token', 'create', '--service-account', bot, '--name', 'ci', '--expires', '30d');
    expect((await api.request(200, 'GET /me', { token })).body).toMatchObject({ uid: bot });
    const listed = await printed('token', 'list', '--service-account', bot);
    expect(listed).not.toContain(token);
    const [, uid = ''] = /^(\w{22}) +hr_\S+ +ci +service_account /m.exec(listed) ?? [];
    await printed('token', 'revoke', uid);
    expect(await json('token', 'list', '--service-account', bot)).toEqual([]);
    expect((await headrace(1, 'token', 'create', '--user', 'ada@example.test')).errors).toContain('administrators');
    expect(await json('token', 'create', '--name', 'laptop')).toMatchObject({ owner: { uid: owner.uid } });
    await printed('service-account', 'delete', bot);
    const factory = await printed('factory', 'create', 'CI', '--alias', 'ci');
    await printed('factory', 'update', 'ci', '--alias', 'none', '--name', 'Builds');
    expect(await printed('factory', 'list')).toMatch(new RegExp(`^${factory} +Builds +- +${team} `, 'm'));
    await printed('factory', 'delete', factory);
    expect(await verified()).toContain('complete');
  });

  it('leaves a chain in which a changed and a removed entry are found', async () => {
    const table = 'headrace.audit_log_entries';
    const find = async (action: string) => {
      const [row] = await api.database.query<{ seq: number }>(
        `SELECT seq::int AS seq FROM ${table} WHERE chain = $1 AND action = $2 ORDER BY audit_log_entries.seq LIMIT 1`,
        [team, action],
      );
      return row?.seq ?? 0;
    };
    const [changed, removed] = [await find('factory.deleted'), await find('invitation.created')];
    expect(removed).toBeLessThan(changed);
    await api.database.query(`ALTER TABLE ${table} DISABLE TRIGGER ALL`);
    await api.database.query(
      `UPDATE ${table} SET entry = replace(entry, 'Olga', 'Eve') WHERE chain = $1 AND seq = $2`,
      [...[team, changed]],
    );
    expect((await headrace(1, 'audit', 'verify')).errors).toContain(`entry ${changed} of the audit log is changed`);
    await api.database.query(`DELETE FROM ${table} WHERE chain = $1 AND seq = $2`, [team, removed]);
    expect((await headrace(1, 'audit', 'verify')).errors).toContain(`entry ${removed} of the audit log is missing`);
  });
});
