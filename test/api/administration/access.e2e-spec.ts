import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { inTeam, requestAnyStatus, UNKNOWN_UID } from '../../support/api-requests.js';

/** `site`: an administrator of the installation without a team. */
const COLUMNS = ['owner', 'admin', 'member', 'viewer', 'bot', 'stranger', 'site'] as const;
type Column = (typeof COLUMNS)[number];

let api: TestApi;
let team: string;
let people: Record<Column, TestPrincipal>;

beforeAll(async () => {
  api = await startTestApi();
  const { identities } = api;
  team = await identities.team('One');
  const other = await identities.team('Two');
  people = {
    owner: await identities.user({ [team]: 'owner' }),
    admin: await identities.user({ [team]: 'admin' }),
    member: await identities.user({ [team]: 'member' }),
    viewer: await identities.user({ [team]: 'viewer' }),
    bot: await identities.serviceAccount(team),
    stranger: await identities.user({ [other]: 'owner' }),
    site: await identities.administrator(),
  };
});
afterAll(() => api.close());

/** Makes what an operation needs, and resolves to its path and body. */
type Prepared = { readonly line: string; readonly body?: object };
let count = 0;
const unique = (): string => `thing-${(count += 1)}`;

const OPERATIONS: Readonly<Record<string, () => Promise<Prepared> | Prepared>> = {
  getCurrentPrincipal: () => ({ line: 'GET /me' }),
  listTeams: () => ({ line: 'GET /teams' }),
  createTeam: async () => ({
    line: 'POST /teams',
    body: { name: unique(), owner_uid: (await api.identities.user()).uid },
  }),
  getTeam: () => ({ line: `GET /teams/${team}` }),
  updateTeam: () => ({ line: `PUT /teams/${team}`, body: { name: 'One' } }),
  listUsers: () => ({ line: 'GET /users' }),
  createUser: () => ({ line: 'POST /users', body: { email: `${unique()}@example.test` } }),
  getUser: () => ({ line: `GET /users/${people.member.uid}` }),
  updateUser: () => ({ line: `PUT /users/${people.member.uid}`, body: { display_name: 'Ada' } }),
  listMembers: () => ({ line: 'GET /members' }),
  putMember: async () => ({
    line: `PUT /members/${(await api.identities.user({ [team]: 'member' })).uid}`,
    body: { role: 'viewer' },
  }),
  'putMember of a user who is no member': async () => ({
    line: `PUT /members/${(await api.identities.user()).uid}`,
    body: { role: 'viewer' },
  }),
  deleteMember: async () => ({ line: `DELETE /members/${(await api.identities.user({ [team]: 'viewer' })).uid}` }),
  listInvitations: () => ({ line: 'GET /invitations' }),
  createInvitation: () => ({ line: 'POST /invitations', body: { email: `${unique()}@example.test`, role: 'viewer' } }),
  revokeInvitation: async () => ({ line: `DELETE /invitations/${await invitation()}` }),
  listServiceAccounts: () => ({ line: 'GET /service-accounts' }),
  createServiceAccount: () => ({ line: 'POST /service-accounts', body: { name: unique() } }),
  deleteServiceAccount: async () => ({
    line: `DELETE /service-accounts/${(await api.identities.serviceAccount(team)).uid}`,
  }),
  'listTokens of a service account': () => ({ line: `GET /tokens?service_account_uid=${people.bot.uid}` }),
  'listTokens of a user': () => ({ line: `GET /tokens?user_uid=${people.owner.uid}` }),
  'listTokens of the caller': () => ({ line: 'GET /tokens' }),
  createToken: () => ({ line: 'POST /tokens', body: { name: unique() } }),
  'createToken of a user': () => ({ line: 'POST /tokens', body: { name: unique(), user_uid: people.member.uid } }),
  'createToken of a service account': () => ({
    line: 'POST /tokens',
    body: { name: unique(), service_account_uid: people.bot.uid },
  }),
  revokeToken: async () => ({ line: `DELETE /tokens/${await tokenOf(people.bot)}` }),
  'revokeToken of a user': async () => ({ line: `DELETE /tokens/${await tokenOf(people.member)}` }),
  listAuditLog: () => ({ line: 'GET /audit-log' }),
  exportAuditLog: () => ({ line: 'GET /audit-log/export' }),
  'listAuditLog of the installation': () => ({ line: 'GET /audit-log?scope=installation' }),
};

async function invitation(): Promise<string> {
  const body = { email: `${unique()}@example.test`, role: 'viewer' };
  return (await api.request(201, 'POST /invitations', { token: people.owner.token, body })).body.uid;
}

async function tokenOf(owner: TestPrincipal): Promise<string> {
  await api.identities.token(owner);
  const [row] = await api.database.query<{ uid: string }>(
    `SELECT uid FROM headrace.tokens WHERE coalesce(user_uid, service_account_uid) = $1 AND revoked_at IS NULL ORDER BY created_at DESC LIMIT 1`,
    [owner.uid],
  );
  return row?.uid ?? '';
}

// oxfmt-ignore
const TABLE: readonly (readonly [operation: string, cells: string])[] = [
  //                                    owner admin membr viewr bot   strng site
  ['getCurrentPrincipal',              '200   200   200   200   200   200   200'],
  ['listTeams',                        '200   200   200   200   200   200   200'],
  ['createTeam',                       '403   403   403   403   403   403   201'],
  ['getTeam',                          '200   200   200   200   200   403   200'],
  ['updateTeam',                       '200   200   403   403   403   403   200'],
  ['listUsers',                        '403   403   403   403   403   403   200'],
  ['createUser',                       '403   403   403   403   403   403   201'],
  ['getUser',                          '403   403   403   403   403   403   200'],
  ['updateUser',                       '403   403   403   403   403   403   200'],
  ['listMembers',                      '200   200   200   200   200   200   400'],
  ['putMember',                        '200   200   403   403   403   404   400'],
  ['putMember of a user who is no member', '404   404   403   403   403   404   400'],
  ['deleteMember',                     '204   204   403   403   403   404   400'],
  ['listInvitations',                  '200   200   403   403   403   200   400'],
  ['createInvitation',                 '201   201   403   403   403   201   400'],
  ['revokeInvitation',                 '204   204   403   403   403   404   400'],
  ['listServiceAccounts',              '200   200   403   403   403   200   400'],
  ['createServiceAccount',             '201   201   403   403   403   201   400'],
  ['deleteServiceAccount',             '204   204   403   403   403   403   403'],
  ['listTokens of a service account',  '200   200   403   403   403   403   403'],
  ['listTokens of a user',             '200   403   403   403   403   403   200'],
  ['listTokens of the caller',         '200   200   200   200   403   200   200'],
  ['createToken',                      '201   201   201   201   403   201   201'],
  ['createToken of a user',            '403   403   201   403   403   403   201'],
  ['createToken of a service account', '201   201   403   403   403   403   403'],
  ['revokeToken',                      '204   204   403   403   403   403   403'],
  ['revokeToken of a user',            '403   403   204   403   403   403   204'],
  ['listAuditLog',                     '200   200   403   403   403   200   400'],
  ['exportAuditLog',                   '200   200   403   403   403   200   400'],
  ['listAuditLog of the installation', '403   403   403   403   403   403   200'],
];

describe('the permission of each operation', () => {
  it('is in the table', () => {
    expect(TABLE.map(([operation]) => operation).sort()).toEqual(Object.keys(OPERATIONS).sort());
  });

  it.each(TABLE)('%s', async (operation, cells) => {
    const found: Record<string, number> = {};
    for (const column of COLUMNS) {
      const prepared = await OPERATIONS[operation]?.();
      if (!prepared) throw new Error(operation);
      const { line, body } = prepared;
      const response = await requestAnyStatus(api, line, { token: people[column].token, ...(body && { body }) });
      found[column] = response.status;
    }
    const expected = Object.fromEntries(COLUMNS.map((column, index) => [column, Number(cells.split(/ +/)[index])]));
    expect(found).toEqual(expected);
  });

  it('is decided before the body is validated, and unknown resources are a 404 for those who may manage them', async () => {
    await api.request(403, 'POST /users', { token: people.owner.token, body: {} });
    const { token } = people.site;
    for (const line of [`GET /users/${UNKNOWN_UID}`, `GET /teams/${UNKNOWN_UID}`])
      await api.request(404, line, { token });
    await api.request(404, `PUT /users/${UNKNOWN_UID}`, { token, body: { display_name: 'a' } });
    await api.request(404, `PUT /teams/${UNKNOWN_UID}`, { token, body: { name: 'a' } });
    await api.request(404, `DELETE /tokens/${UNKNOWN_UID}`, { token });
    await api.request(404, 'POST /tokens', { token, body: { name: 'x', user_uid: UNKNOWN_UID } });
    await api.request(404, `DELETE /service-accounts/${UNKNOWN_UID}`, { token: people.owner.token });
    await api.request(404, `PUT /members/${UNKNOWN_UID}`, { token: people.owner.token, body: { role: 'viewer' } });
  });

  it('is not decided for bodies of another type or size, malformed identifiers and unknown teams', async () => {
    const { token } = people.owner;
    const administrator = people.site.token;
    const bodies = [
      ...['POST /users', `PUT /users/${UNKNOWN_UID}`, 'POST /teams'].map((line) => [line, administrator]),
      ...[
        `PUT /teams/${UNKNOWN_UID}`,
        `PUT /members/${UNKNOWN_UID}`,
        'POST /service-accounts',
        'POST /invitations',
      ].map((line) => [line, token]),
      ...[
        'POST /tokens',
        'POST /login-links',
        'POST /sessions',
        'POST /invitations/lookup',
        'POST /invitations/accept',
      ].map((line) => [line, token]),
    ] as const;
    for (const [line = '', sender = ''] of bodies) {
      await api.request(415, line, { token: sender, body: '{}', contentType: 'text/plain' });
      await api.request(413, line, { token: sender, body: { name: 'x'.repeat(2 * 1_048_576) } });
      await api.request(400, line, { token: sender, body: { unknown: 1 } });
    }
    for (const line of [
      'GET /users/%20',
      'DELETE /tokens/%20',
      'DELETE /sessions/%20',
      'GET /teams/%20',
      'PUT /teams/%20',
    ])
      await api.request(400, line, { token: administrator, ...(line.startsWith('PUT') && { body: {} }) });
    await api.request(400, 'DELETE /service-accounts/%20', { token });
    await api.request(400, 'DELETE /invitations/%20', { token });
    await api.request(400, 'GET /teams?limit=0', { token });
    await api.request(403, 'GET /me', { token, headers: inTeam(UNKNOWN_UID) });
  });
});
