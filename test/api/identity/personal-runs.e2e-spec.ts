import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';

/** Personal runs are commands on the machine that executes runs: PERSONAL_RUNS says who may have them. */

let api: TestApi;
let team: string;
beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team();
});
afterAll(() => api.close());

const create = (to: TestApi, by: TestPrincipal, status: number, body: object = { team: false }) =>
  to.request(status, 'POST /agent/runs', { token: by.token, body: { prompt: 'Go.', ...body } });

async function demote(user: TestPrincipal): Promise<void> {
  await api.database.query(`UPDATE memberships SET role = 'viewer' WHERE user_uid = $1`, [user.uid]);
  // Roles are cached with the token for at most a second; a token of the present has the present role.
}

describe('PERSONAL_RUNS=members, the default', () => {
  it('rejects a personal run of a user without a team, and names the setting', async () => {
    const nobody = await api.identities.user();
    const { body } = await create(api, nobody, 403);
    expect(body).toMatchObject({ error_code: 'not_authorized', detail: expect.stringContaining('PERSONAL_RUNS') });
  });

  it('rejects a follow-up of a member who became a viewer, who may still read and cancel the run', async () => {
    const member = await api.identities.user({ [team]: 'member' });
    const runId = (await create(api, member, 200)).body.run_id as string;
    await demote(member);
    const viewer = { ...member, token: await api.identities.token(member) };
    await api.request(403, `POST /agent/runs/${runId}/followups`, {
      token: viewer.token,
      body: { message: 'Continue.' },
    });
    await api.request(200, `GET /agent/runs/${runId}`, { token: viewer.token });
    await api.request(200, `POST /agent/runs/${runId}/cancel`, { token: viewer.token });
  });

  it('fails the personal run of a member who became a viewer with not_authorized at its start', async () => {
    const member = await api.identities.user({ [team]: 'member' });
    const { token } = member;
    const body = { prompt: 'Go.', team: false };
    const registered = (await api.request(200, 'POST /agent/runs/external', { token, body })).body;
    await demote(member);
    await api.request(412, `POST /runner/v1/executions/${registered.execution_id}/claim`, {
      token: registered.token,
      body: { protocol_version: 1, instance_id: 'test' },
    });
    const run = (await api.request(200, `GET /agent/runs/${registered.run_id}`, { token })).body;
    expect(run).toMatchObject({ state: 'FAILED', status_message: { error_code: 'not_authorized' } });
  });
});

describe('an external run of the team', () => {
  it('fails with not_authorized when its creator, who became a viewer, claims it', async () => {
    const member = await api.identities.user({ [team]: 'member' });
    const body = { prompt: 'Go.', team: true };
    const registered = (await api.request(200, 'POST /agent/runs/external', { token: member.token, body })).body;
    await demote(member);
    await api.request(412, `POST /runner/v1/executions/${registered.execution_id}/claim`, {
      token: registered.token,
      body: { protocol_version: 1, instance_id: 'test' },
    });
    const token = await api.identities.token(member);
    const run = (await api.request(200, `GET /agent/runs/${registered.run_id}`, { token })).body;
    expect(run).toMatchObject({ state: 'FAILED', status_message: { error_code: 'not_authorized' } });
  });
});

describe.each([
  ['everybody', { viewer: 200, owner: 200 }],
  ['nobody', { viewer: 403, owner: 403 }],
] as const)('PERSONAL_RUNS=%s', (personalRuns, expected) => {
  let other: TestApi;
  beforeAll(async () => {
    other = await startTestApi({ database: api.database, settings: { personalRuns } });
  });
  afterAll(() => other.close());

  it(`answers a viewer ${expected.viewer} and an owner ${expected.owner}, and runs of the team as always`, async () => {
    const viewer = await api.identities.user({ [team]: 'viewer' });
    const owner = await api.identities.user({ [team]: 'owner' });
    await create(other, viewer, expected.viewer);
    await create(other, owner, expected.owner);
    await create(other, viewer, 403, { team: true });
    await create(other, owner, 200, { team: true });
  });

  it('never lets a viewer use an environment of the team', async () => {
    const viewer = await api.identities.user({ [team]: 'viewer' });
    const admin = await api.identities.user({ [team]: 'admin' });
    const { body } = await other.request(201, 'POST /environments', { token: admin.token, body: { config: {} } });
    await create(other, viewer, 403, { team: false, config: { environment_id: body.uid as string } });
  });
});
