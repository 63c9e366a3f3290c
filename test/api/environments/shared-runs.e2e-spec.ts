import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Caller, selectTeams, TokenAuthenticator } from '#platform/auth';
import { EnvironmentDirectory } from '#domain/environments';
import { ExecutionTokens } from '#execution/executions';
import { startTestApi, type TestApi, type TestPrincipal, TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { EnvironmentSharing } from './environment-sharing.js';

/** What a shared environment is to runs: what they get, and what ends when the sharing does. */

const ENV = { env: { TOKEN: 'swordfish' } };

let api: TestApi;
let fixture: ApiFixture;
let sharing: EnvironmentSharing;
let owner: TestPrincipal;
let guest: TestPrincipal;
beforeAll(async () => {
  api = await startTestApi();
  fixture = await ApiFixture.over(api);
  sharing = await EnvironmentSharing.prepare(fixture);
  ({ owner, guest } = sharing.people);
});
afterAll(() => api.close());

async function createRun(by: TestPrincipal, environment: string, team = false, status = 200): Promise<string> {
  const body = { prompt: 'Go.', team, config: { environment_id: environment } };
  return (await api.request(status, 'POST /agent/runs', { token: by.token, body })).body.run_id as string;
}

/** What becomes of a queued run whose environment cannot be had. */
async function failAtClaim(by: TestPrincipal, runId: string): Promise<object> {
  await api.database.query(`SELECT place_executions(ARRAY['hosted'], ARRAY[NULL], 1000, 1000, 60000, 'test')`);
  const [execution] = await api.database.query<{ id: string }>(
    'SELECT id FROM executions WHERE run_id = $1 AND ended_at IS NULL',
    [runId],
  );
  const id = execution?.id ?? '';
  await api.request(412, `POST /runner/v1/executions/${id}/claim`, {
    token: new ExecutionTokens(api.settings.secretsKey ?? '').mint(id),
    body: { protocol_version: 1, instance_id: 'test' },
  });
  return (await api.request(200, `GET /agent/runs/${runId}`, { token: by.token })).body;
}

const FAILED = {
  state: 'FAILED',
  status_message: {
    error_code: 'environment_setup_failed',
    message: expect.stringContaining('may no longer use it') as string,
  },
};

describe('runs in a shared environment', () => {
  it('receive its values in plain text, and no response contains them', async () => {
    const uid = await sharing.createEnvironment('personal', ENV);
    await sharing.grant(uid, { user_uid: guest.uid });
    const runId = await createRun(guest, uid, true);
    const { assignment } = await TestRunner.take(api, runId);
    expect(assignment.environment).toMatchObject({ uid, env: { TOKEN: 'swordfish' } });
    const { text } = await api.request(200, `GET /agent/runs/${runId}`, { token: guest.token });
    expect(text).not.toContain('swordfish');
  });

  it('may use an identity of a team with a grant, and not of a team whose member has one', async () => {
    const uid = await sharing.createEnvironment('personal');
    const admin = await api.identities.user({ [sharing.guestTeam]: 'admin' });
    const identity = (status: number, name: string) =>
      api.request(status, 'POST /agent/identities', {
        token: admin.token,
        body: { name, environment_id: uid },
      });
    await sharing.grant(uid, { user_uid: admin.uid });
    await identity(403, 'early');
    const grantUid = await sharing.grant(uid, { team_uid: sharing.guestTeam });
    const { body } = await identity(201, 'worker');
    const create = (status: number) =>
      api.request(status, 'POST /agent/runs', {
        token: sharing.people.guestTeam.token,
        body: { prompt: 'Go.', agent_identity_uid: body.uid },
      });
    const runId = (await create(200)).body.run_id as string;
    expect((await TestRunner.take(api, runId)).assignment.environment?.uid).toBe(uid);
    await api.request(204, `DELETE /environments/${uid}/grants/${grantUid}`, { token: owner.token });
    await create(403);
  });
});

describe('a run of a team in an environment of its creator', () => {
  async function startedRun() {
    const uid = await sharing.createEnvironment('personal', ENV);
    const runId = await createRun(owner, uid, true);
    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    return { uid, runId, runner };
  }

  it('is continued by members who may use the environment', async () => {
    const { admin, member } = sharing.people;
    const { uid, runId, runner } = await startedRun();
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Go.' }],
      ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
    );
    const send = async (status: number, by: TestPrincipal, path = 'followups') =>
      (
        await api.request(status, `POST /agent/runs/${runId}/${path}`, {
          token: by.token,
          body: { message: 'Print the variables.' },
        })
      ).body;
    for (const path of ['followups', 'followups/external'])
      expect((await send(403, member, path)).detail).toContain('an environment that you cannot use');
    await sharing.grant(uid, { user_uid: member.uid });
    await send(200, member);
    await send(403, admin);
    await send(200, owner);
  });

  it('gets no permission from members who may not use the environment', async () => {
    const { member } = sharing.people;
    const { runId, runner } = await startedRun();
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Go.' }],
      ['permission_requested', { approval_id: 'a1', title: 'Print the variables', options: [], ask: true }],
    );
    const decide = (status: number, by: TestPrincipal, body: object) =>
      api.request(status, `POST /agent/runs/${runId}/approvals/a1`, { token: by.token, body });
    for (const decision of ['allow', 'allow_always']) await decide(403, member, { decision });
    await decide(403, member, { decision: 'deny', note: 'Print them in another way.' });
    await decide(200, member, { decision: 'deny' });
    const question = { approval_id: 'a2', kind: 'question', title: 'What now?', options: [], ask: true };
    await runner.report(['permission_requested', question]);
    const answer = (status: number, by: TestPrincipal) =>
      api.request(status, `POST /agent/runs/${runId}/approvals/a2`, {
        token: by.token,
        body: { decision: 'answer', text: 'Print the variables.' },
      });
    await answer(403, member);
    await answer(200, owner);
  });

  it('fails at its next execution when the creator has left the team', async () => {
    const leaver = await api.identities.user({ [fixture.team]: 'member' });
    const body = { config: { name: 'mine', ...ENV }, team: false };
    const { uid } = (await api.request(201, 'POST /environments', { token: leaver.token, body })).body;
    const runId = await createRun(leaver, uid, true);
    await api.database.query('DELETE FROM memberships WHERE user_uid = $1', [leaver.uid]);
    expect(await failAtClaim(owner, runId)).toMatchObject(FAILED);
  });
});

describe('when the sharing ends', () => {
  it.each(['grant to the person', 'grant to the team', 'link'])(
    'by %s, queued runs fail and others continue',
    async (how) => {
      const uid = await sharing.createEnvironment('team', ENV);
      const by = how === 'grant to the team' ? sharing.people.guestTeam : guest;
      const shared = async (): Promise<string> => {
        if (how === 'grant to the person') return `grants/${await sharing.grant(uid, { user_uid: by.uid })}`;
        if (how === 'grant to the team') return `grants/${await sharing.grant(uid, { team_uid: sharing.guestTeam })}`;
        const made = await sharing.createLink(uid);
        await sharing.redeemLink(200, by, made.token);
        return `links/${made.uid}`;
      };
      const path = await shared();
      const begun = await createRun(by, uid);
      const runner = await TestRunner.take(api, begun);
      const queued = [await createRun(by, uid), await createRun(by, uid, true)];
      await api.request(204, `DELETE /environments/${uid}/${path}`, { token: owner.token });
      await createRun(by, uid, false, 403);
      for (const runId of queued) expect(await failAtClaim(by, runId)).toMatchObject(FAILED);
      await runner.startAgent();
      await runner.finish('closed');
      const { body } = await api.request(200, `GET /agent/runs/${begun}`, { token: by.token });
      expect(body.status_message?.error_code).not.toBe('environment_setup_failed');
    },
  );

  it('a run that continues later fails', async () => {
    const uid = await sharing.createEnvironment('personal', ENV);
    const grantUid = await sharing.grant(uid, { user_uid: guest.uid });
    const runId = await createRun(guest, uid);
    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Go.' }],
      ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
    );
    await runner.finish('closed');
    await api.request(204, `DELETE /environments/${uid}/grants/${grantUid}`, { token: owner.token });
    const { body } = await api.request(200, `POST /agent/runs/${runId}/followups`, {
      token: guest.token,
      body: { message: 'Print the variables.' },
    });
    expect(body.outcome).toBe('handoff_execution');
    expect(await failAtClaim(guest, runId)).toMatchObject(FAILED);
  });

  it('a personal run of a former member fails, and a run of the team continues', async () => {
    const uid = await sharing.createEnvironment('team');
    const leaver = await api.identities.user({ [fixture.team]: 'member' });
    const [own, teams] = [await createRun(leaver, uid), await createRun(leaver, uid, true)];
    // Another team that lets them have personal runs.
    const other = await api.identities.team();
    await api.database.query('UPDATE memberships SET team_uid = $2 WHERE user_uid = $1', [leaver.uid, other]);
    expect(await failAtClaim(leaver, own)).toMatchObject(FAILED);
    expect((await TestRunner.take(api, teams)).assignment.environment?.uid).toBe(uid);
  });
});

describe('a viewer of the team', () => {
  it('cannot create a personal run in an environment of the team, also with a role in another team', async () => {
    const uid = await sharing.createEnvironment('team', ENV);
    const home = await api.identities.team();
    const viewer = await api.identities.user({ [fixture.team]: 'viewer', [home]: 'member' });
    await createRun(viewer, uid, false, 403);
    const { body } = await api.request(403, 'POST /agent/runs/external', {
      token: viewer.token,
      body: { prompt: 'Go.', team: false, config: { environment_id: uid } },
    });
    expect(body.error_code).toBe('not_authorized');
    // Seeing is another question.
    await api.request(200, `GET /environments/${uid}`, { token: viewer.token });
  });

  it('gets no values by a personal run from the time as a member: it fails at its start', async () => {
    const uid = await sharing.createEnvironment('team', ENV);
    const home = await api.identities.team();
    const demoted = await api.identities.user({ [fixture.team]: 'member', [home]: 'member' });
    const queued = await createRun(demoted, uid);
    await api.database.query(`UPDATE memberships SET role = 'viewer' WHERE user_uid = $1 AND team_uid = $2`, [
      demoted.uid,
      fixture.team,
    ]);
    expect(await failAtClaim(demoted, queued)).toMatchObject(FAILED);
  });

  it('may use an environment of the team with a personal grant', async () => {
    const uid = await sharing.createEnvironment('team', ENV);
    const home = await api.identities.team();
    const viewer = await api.identities.user({ [fixture.team]: 'viewer', [home]: 'member' });
    await sharing.grant(uid, { user_uid: viewer.uid });
    expect((await TestRunner.take(api, await createRun(viewer, uid))).assignment.environment?.uid).toBe(uid);
  });
});

describe('EnvironmentDirectory', () => {
  async function callerOf({ token }: TestPrincipal): Promise<Caller> {
    const found = await api.app.get(TokenAuthenticator).authenticate(`Bearer ${token}`);
    const teams = typeof found === 'string' ? null : selectTeams(found, undefined);
    if (typeof found === 'string' || !teams) throw new Error('The token is not accepted.');
    return { principal: found, permission: 'runs:write', ...teams };
  }

  it('lists the environments that a caller may use, by name, with plain values', async () => {
    const person = await api.identities.user({ [await api.identities.team()]: 'member' });
    const shared = await sharing.createEnvironment('team', { name: 'b', ...ENV });
    await sharing.redeemLink(200, person, (await sharing.createLink(shared)).token);
    const own = await api.request(201, 'POST /environments', {
      token: person.token,
      body: { config: { name: 'a' }, team: false },
    });
    await sharing.createEnvironment('team', { name: 'c' });
    const usable = await api.app.get(EnvironmentDirectory).list(await callerOf(person), 'runs:write');
    expect(usable.map(({ uid }) => uid)).toEqual([own.body.uid, shared]);
    expect(usable[1]?.config.env).toEqual(ENV.env);
  });

  it('returns no environment for a malformed uid', async () => {
    const directory = api.app.get(EnvironmentDirectory);
    expect(await directory.findUsable('x', { teamUid: null, caller: await callerOf(guest) })).toBeNull();
    expect(await directory.findUsable('x', { teamUid: null, caller: null })).toBeNull();
  });
});
