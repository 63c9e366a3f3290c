import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { EnvironmentDirectory } from '#domain/environments';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { headrace } from '../support/command-line.js';

let api: TestApi;
let directory: string;
let team: string;
let admin: TestPrincipal;
let guest: TestPrincipal;
/** The standard error of the last command. */
let errors = '';

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team('Makers');
  admin = await api.identities.user({ [team]: 'admin' });
  guest = await api.identities.user({ [await api.identities.team('Guests')]: 'member' });
  directory = mkdtempSync(join(tmpdir(), 'headrace-test-cli-'));
  vi.stubEnv('DATABASE_URL', api.database.url);
  vi.stubEnv('HEADRACE_DATA_DIR', join(directory, 'data'));
  vi.stubEnv('SECRETS_KEY', api.settings.secretsKey ?? '');
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await api.close();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(() => {
  vi.stubEnv('HEADRACE_TOKEN', admin.token);
});

/** Runs `headrace environment …`, expects this exit code and returns the output. */
async function environment(code: number, ...args: string[]) {
  const printed = await headrace(code, 'environment', ...args, '--url', api.url);
  ({ errors } = printed);
  return printed;
}
const as = (principal: TestPrincipal): void => void vi.stubEnv('HEADRACE_TOKEN', principal.token);
const file = (name: string, content: string): string => {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
};
const create = async (content = '{"name": "one"}', ...options: string[]): Promise<string> =>
  (await environment(0, 'create', '--file', file('one.json', content), ...options)).output.trim();

describe('headrace environment', () => {
  it('creates an environment from YAML, lists, shows, updates and deletes it', async () => {
    const yaml = 'name: node\nsetup_commands:\n  - npm ci\nenv:\n  TOKEN: swordfish\n';
    const uid = await create(yaml);
    expect(uid).toMatch(/^[A-Za-z0-9]{22}$/);
    expect(errors).toContain(`belongs to team ${team}`);
    expect((await environment(0, 'list')).output).toMatch(new RegExp(`${uid} +node +team ${team} +ok +- +2`));
    const { output: shown } = await environment(0, 'show', uid);
    expect(JSON.parse(shown)).toEqual({ name: 'node', setup_commands: ['npm ci'], env: { TOKEN: '***' } });
    // The printed configuration can be edited and used for an update.
    await environment(0, 'update', uid, '--file', file('back.json', shown.replace('npm ci', 'npm test')));
    const stored = await api.app.get(EnvironmentDirectory).find(uid);
    expect(stored?.config).toEqual({ name: 'node', setup_commands: ['npm test'], env: { TOKEN: 'swordfish' } });
    await environment(0, 'delete', uid);
    expect((await environment(1, 'show', uid)).errors).toContain('Environment not found.');
    expect((await environment(1, 'delete', uid)).errors).toContain('Environment not found.');
  });

  it('creates personal environments with --personal and environments of a team with --team', async () => {
    const other = await api.identities.team('Other');
    as(await api.identities.user({ [team]: 'admin', [other]: 'admin' }));
    const mine = await create('name: mine', '--personal');
    expect(errors).toContain('belongs to user');
    const theirs = await create('name: theirs', '--team', other);
    expect(errors).toContain(`belongs to team ${other}`);
    const { output: ofOther } = await environment(0, 'list', '--team', other, '--sort', 'last_updated');
    expect(ofOther).toContain(mine);
    expect(ofOther).toContain(theirs);
    expect((await environment(0, 'list', '--team', team)).output).not.toContain(theirs);
  });

  it('grants an environment to a user and a team, lists the grants and revokes one', async () => {
    const uid = await create();
    const { output: byAddress } = await environment(0, 'grant', uid, '--user', `${guest.uid}@example.test`);
    expect((await environment(0, 'grant', uid, '--user', guest.uid)).output).toBe(byAddress);
    const guestTeam = await api.identities.team();
    const { output: toTeam } = await environment(0, 'grant', uid, '--team', guestTeam);
    const { output: list } = await environment(0, 'sharing', uid);
    expect(list).toMatch(new RegExp(`grant +${byAddress.trim()} +user ${guest.uid}@example.test`));
    expect(list).toMatch(new RegExp(`grant +${toTeam.trim()} +team ${guestTeam}`));
    as(guest);
    expect((await environment(0, 'list')).output).toContain(uid);
    const { output: own } = await environment(0, 'sharing', uid);
    expect(own).toContain(byAddress.trim());
    expect(own).not.toContain(toTeam.trim());
    as(admin);
    await environment(0, 'revoke', uid, '--grant', byAddress.trim());
    expect((await environment(1, 'revoke', uid, '--grant', byAddress.trim())).errors).toContain('Grant not found');
    as(guest);
    expect((await environment(0, 'list')).output).not.toContain(uid);
    expect((await environment(1, 'sharing', uid)).errors).toContain('You have no access to this environment');
  });

  it('revokes a grant when its recipient requests it', async () => {
    const uid = await create();
    const { output: grant } = await environment(0, 'grant', uid, '--user', guest.uid);
    as(guest);
    expect((await environment(0, 'list')).output).toContain(uid);
    await environment(0, 'revoke', uid, '--grant', grant.trim());
    expect((await environment(0, 'list')).output).not.toContain(uid);
    as(admin);
    expect((await environment(0, 'sharing', uid)).output).not.toContain(grant.trim());
  });

  it('creates a link that is printed once, redeems it from a file and revokes it', async () => {
    const uid = await create();
    const { output: url } = await environment(0, 'link', uid, '--max-uses', '2', '--expires', '7d');
    expect(url).toMatch(/^http:\/\/.*\/environments\/shared#hrl_[A-Za-z0-9]{43}\n$/);
    const { output: list } = await environment(0, 'sharing', uid);
    const [, linkUid = ''] = /link +([A-Za-z0-9]{22}) +0 of 2 +\d{4}-/.exec(list) ?? [];
    expect(list).not.toContain('hrl_');
    as(guest);
    expect((await environment(0, 'redeem', '--link-file', file('link', url))).output).toBe(`${uid}\n`);
    const token = url.slice(url.indexOf('#') + 1);
    expect((await environment(0, 'redeem', '--link-file', file('token', token))).output).toBe(`${uid}\n`);
    as(admin);
    await environment(0, 'revoke', uid, '--link', linkUid);
    as(guest);
    const { errors: refused } = await environment(1, 'redeem', '--link-file', file('link', url));
    expect(refused).toContain('expired or revoked');
    expect(refused).not.toContain('hrl_');
  });

  it.each([
    [['create'], 2, '--file is missing'],
    [['create', '--file', '/nowhere/at/all'], 1, 'cannot be read (ENOENT)'],
    [['create', '--file', 'BAD', '--team', 'x', '--personal'], 2, 'mutually exclusive'],
    [['create', '--file', 'BAD'], 1, 'not valid JSON or YAML: line 2, column'],
    [['create', '--file', 'TEXT'], 1, 'must be an object'],
    [['create', '--file', 'LOOP'], 1, 'aliases'],
    [['create', '--file', 'FIELD'], 1, '`config.colour` is not a known field'],
    [['list', '--sort', 'size'], 2, '--sort must be one of'],
    [['show'], 2, '<uid> is missing'],
    [['show', '../runs'], 1, 'No resource with this'],
    [['update', 'x'], 2, '--file is missing'],
    [['grant', 'x'], 2, 'exactly one of --user and --team is required'],
    [['grant', 'x', '--user', 'a', '--team', 'b'], 2, 'exactly one of --user and --team is required'],
    [['link', 'x', '--expires', 'soon'], 2, '--expires must be'],
    [['link', 'x', '--expires', '99999999d'], 2, '--expires must not be later than the year 9999'],
    [['link', 'x', '--max-uses', 'many'], 2, '--max-uses must be'],
    [['revoke', 'x'], 2, 'exactly one of --grant and --link is required'],
    [['redeem'], 2, '--link-file is missing'],
    [['redeem', '--link-file', 'EMPTY'], 1, 'is empty'],
  ])('rejects the arguments %j with exit code %i: %s', async (args, code, expectedError) => {
    const files: Readonly<Record<string, string>> = {
      BAD: 'env:\n  TOKEN: "swordfish\n',
      TEXT: 'swordfish',
      LOOP: `a: &a [x]\nb: &b [${'*a,'.repeat(30)}]\nc: [${'*b,'.repeat(30)}]\n`,
      FIELD: 'colour: swordfish',
      EMPTY: '\n',
    };
    const { errors: reported } = await environment(
      code,
      ...args.map((arg) => (files[arg] === undefined ? arg : file(arg, files[arg]))),
    );
    expect(reported).toContain(expectedError);
    expect(reported).not.toContain('swordfish');
  });
});
