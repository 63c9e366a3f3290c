import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  INITIAL_TEAM_SETTINGS,
  MembersService,
  PrincipalDirectory,
  ServiceAccountsService,
  TeamsService,
  TokenAuthenticator,
  TokensService,
  UsersService,
} from '#platform/auth';
import { Database } from '#platform/persistence';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';

let api: TestApi;
let red: string;
let blue: string;
/** On both teams: member of red, viewer of blue. */
let both: TestPrincipal;
let outsider: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  red = await api.identities.team('Red');
  blue = await api.identities.team('Blue');
  both = await api.identities.user({ [red]: 'admin', [blue]: 'viewer' });
  outsider = await api.identities.user();
  for (const team of [red, blue]) {
    const { token } = await api.identities.user({ [team]: 'owner' });
    await api.request(201, 'POST /environments', { token, body: { config: { name: team } } });
  }
});
afterAll(() => api.close());

/** Names of the environments that a request lists: here, the teams it covers. */
async function covered(token: string, headers: Record<string, string> = {}): Promise<string[]> {
  const { body } = await api.request(200, 'GET /agent/environments', { token, headers });
  return body.environments.map(({ config }: { config: { name: string } }) => config.name).sort();
}

describe('the team header', () => {
  it('chooses a team; without it a list covers all teams of the caller', async () => {
    expect(await covered(both.token)).toEqual([blue, red].sort());
    expect(await covered(both.token, { 'X-Headrace-Team-Uid': red })).toEqual([red]);
    expect(await covered(both.token, { 'X-Headrace-Team-Uid': blue })).toEqual([blue]);
    expect(await covered(outsider.token)).toEqual([]);
  });

  it('overrides its alias, and a blank value counts as absent', async () => {
    expect(await covered(both.token, { 'X-Warp-Team-Uid': blue })).toEqual([blue]);
    expect(await covered(both.token, { 'X-Warp-Team-Uid': blue, 'X-Headrace-Team-Uid': red })).toEqual([red]);
    expect(await covered(both.token, { 'X-Headrace-Team-Uid': ' ', 'X-Warp-Team-Uid': blue })).toEqual([blue]);
  });

  it('is rejected with the same 403 for a team of others and an unknown team', async () => {
    const answers = await Promise.all(
      [red, 'x'.repeat(22), 'nonsense'].map((team) =>
        api.request(403, 'GET /agent/environments', {
          token: outsider.token,
          headers: { 'X-Headrace-Team-Uid': team },
        }),
      ),
    );
    const bodies = answers.map(({ body }) => ({ ...body, trace_id: null }));
    expect(bodies[0]).toMatchObject({ error_code: 'not_authorized', retryable: false });
    expect(bodies[1]).toEqual(bodies[0]);
    expect(bodies[2]).toEqual(bodies[0]);
  });

  it('is ignored for a service account', async () => {
    const bot = await api.identities.serviceAccount(red);
    expect(await covered(bot.token)).toEqual([red]);
    expect(await covered(bot.token, { 'X-Headrace-Team-Uid': blue })).toEqual([red]);
    expect(await covered(bot.token, { 'X-Warp-Team-Uid': 'nonsense' })).toEqual([red]);
  });
});

describe('roles', () => {
  const body = { config: { name: 'made-by-role' } };

  it.each(['owner', 'admin'] as const)('%s manages environments', async (role) => {
    const { token } = await api.identities.user({ [red]: role });
    const { body: made } = await api.request(201, 'POST /environments', { token, body });
    await api.request(204, `DELETE /environments/${made.uid}`, { token });
  });

  it.each(['member', 'viewer'] as const)('%s reads environments, and manages only personal ones', async (role) => {
    const { token } = await api.identities.user({ [red]: role });
    await api.request(200, 'GET /agent/environments', { token });
    const { body: problem } = await api.request(403, 'POST /environments', { token, body });
    expect(problem.error_code).toBe('not_authorized');
    const { body: made } = await api.request(201, 'POST /environments', { token, body: { ...body, team: false } });
    expect(made.scope.type).toBe('User');
    await api.request(204, `DELETE /environments/${made.uid}`, { token });
  });

  it('a service account has the permissions of a member', async () => {
    const { token } = await api.identities.serviceAccount(red);
    await api.request(200, 'GET /agent/environments', { token });
    await api.request(403, 'POST /environments', { token, body });
    await api.request(403, 'POST /environments', { token, body: { ...body, team: false } });
  });

  it('the role in the team of the header applies', async () => {
    const make = (status: number, team: string) =>
      api.request(status, 'POST /environments', { token: both.token, headers: { 'X-Headrace-Team-Uid': team }, body });
    await make(403, blue);
    const { body: made } = await make(201, red);
    await api.request(204, `DELETE /environments/${made.uid}`, { token: both.token });
  });
});

describe('use cases of the command line', () => {
  it('create and list teams and users', async () => {
    const team = await api.app.get(TeamsService).create({ name: 'Green', maxConcurrentRuns: 3 });
    expect(await api.app.get(TeamsService).list()).toContainEqual(team);
    const created = await api.app.get(UsersService).create({ email: 'Ada@Example.test', displayName: 'Ada' });
    if (created.kind !== 'created') throw new Error(created.kind);
    await expect(
      api.app.get(UsersService).create({ email: 'ada@example.TEST', displayName: 'Other' }),
    ).resolves.toEqual({ kind: 'email_taken' });
    const { uid: userUid } = created.user;
    await expect(api.app.get(MembersService).setRole({ teamUid: team.uid, userUid, role: 'owner' })).resolves.toEqual({
      kind: 'done',
    });
    const listed = await api.app.get(UsersService).list({ teamUid: team.uid });
    expect(listed).toEqual([{ ...created.user, memberships: [{ teamUid: team.uid, role: 'owner' }] }]);
  });

  it('keep one owner in a team, also when two owners remove each other concurrently', async () => {
    const team = await api.identities.team();
    const [first, second] = [
      await api.identities.user({ [team]: 'owner' }),
      await api.identities.user({ [team]: 'owner' }),
    ];
    const remove = (userUid: string) => api.app.get(MembersService).remove({ teamUid: team, userUid });
    const results = await Promise.all([remove(first.uid), remove(second.uid)]);
    expect(results.map(({ kind }) => kind).sort()).toEqual(['done', 'last_owner']);
    const [last] = await api.app.get(UsersService).list({ teamUid: team });
    await expect(
      api.app.get(MembersService).setRole({ teamUid: team, userUid: last?.uid ?? '', role: 'admin' }),
    ).resolves.toEqual({ kind: 'last_owner' });
    await expect(remove(outsider.uid)).resolves.toEqual({ kind: 'not_a_member' });
  });

  it('reject unknown teams and users', async () => {
    const nobody = 'x'.repeat(22);
    await expect(
      api.app.get(MembersService).setRole({ teamUid: nobody, userUid: both.uid, role: 'viewer' }),
    ).resolves.toEqual({ kind: 'unknown_team' });
    await expect(
      api.app.get(MembersService).setRole({ teamUid: red, userUid: nobody, role: 'viewer' }),
    ).resolves.toEqual({
      kind: 'unknown_user',
    });
    await expect(api.app.get(MembersService).remove({ teamUid: nobody, userUid: both.uid })).resolves.toEqual({
      kind: 'unknown_team',
    });
    await expect(api.app.get(ServiceAccountsService).create({ teamUid: nobody, name: 'x' })).resolves.toEqual({
      kind: 'unknown_team',
    });
  });

  it('describe principals by name, and omit unknown ones', async () => {
    const bot = await api.identities.serviceAccount(red, 'nightly');
    const known = await api.app
      .get(PrincipalDirectory)
      .describe([both, bot, { type: 'user', uid: 'x'.repeat(22) }, { type: 'user', uid: bot.uid }]);
    expect(known.get(both.uid)).toEqual({
      type: 'user',
      uid: both.uid,
      display_name: 'Somebody',
      email: `${both.uid}@example.test`,
    });
    expect(known.get(bot.uid)).toEqual({ type: 'service_account', uid: bot.uid, display_name: 'nightly' });
    expect(known.size).toBe(2);
  });

  it('end the tokens of a deleted service account, and create no new ones', async () => {
    const bot = await api.identities.serviceAccount(red);
    await api.app.get(Database).transaction((tx) => api.app.get(ServiceAccountsService).disable(tx, bot.uid));
    await expect(api.app.get(TokensService).create({ owner: bot, name: 'late' })).resolves.toEqual({
      kind: 'unknown_owner',
    });
    await api.request(401, 'GET /agent/environments', { token: bot.token });
  });
});

describe('team settings', () => {
  const membershipsOf = async (token: string) => {
    const principal = await api.app.get(TokenAuthenticator).authenticate(`Bearer ${token}`);
    if (typeof principal === 'string') throw new Error(principal);
    return new Map(principal.memberships.map(({ teamUid, team }) => [teamUid, team]));
  };

  it('are loaded with the token for each team of users and service accounts', async () => {
    const [plain, special] = [await api.identities.team(), await api.identities.team()];
    const changed = {
      defaultModelId: 'm',
      defaultWorkerHost: 'w',
      features: { metadata_filter: false, schedules: true },
    };
    await expect(api.app.get(TeamsService).update(special, changed)).resolves.toMatchObject({
      kind: 'updated',
      team: { uid: special, name: 'Team', maxConcurrentRuns: null, ...changed },
    });
    const user = await api.identities.user({ [plain]: 'member', [special]: 'viewer' });
    expect(await membershipsOf(user.token)).toEqual(
      new Map<string, object>([
        [plain, INITIAL_TEAM_SETTINGS],
        [special, changed],
      ]),
    );
    const bot = await api.identities.serviceAccount(special);
    expect(await membershipsOf(bot.token)).toEqual(new Map<string, object>([[special, changed]]));
  });

  it('are updated only for the given fields; null resets a field', async () => {
    const uid = await api.identities.team('Settings');
    const update = async (changes: Parameters<TeamsService['update']>[1]) => {
      const result = await api.app.get(TeamsService).update(uid, changes);
      if (result.kind !== 'updated') throw new Error(result.kind);
      return result.team;
    };
    const all = { name: 'New', maxConcurrentRuns: 3, defaultModelId: 'm', defaultWorkerHost: 'w' };
    const off = { metadata_filter: false, schedules: false };
    expect(await update({ ...all, features: off })).toMatchObject({ ...all, features: off });
    expect(await update({})).toMatchObject({ ...all, features: off });
    expect(await update({ features: { schedules: true } })).toMatchObject({ features: { ...off, schedules: true } });
    const unset = { maxConcurrentRuns: null, defaultModelId: null, defaultWorkerHost: null };
    expect(await update(unset)).toMatchObject({ ...unset, name: 'New', features: { ...off, schedules: true } });
    expect(await api.app.get(TeamsService).list()).toContainEqual(await update({}));
    await expect(api.app.get(TeamsService).update('x'.repeat(22), { name: 'x' })).resolves.toEqual({
      kind: 'unknown_team',
    });
  });
});
