import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { loadProgram, operationsIn, rejection, type RunningProgram } from './typed-programs.js';

interface Program {
  createTeam(
    api: unknown,
    name: string,
    email: string,
  ): Promise<{ team: { uid: string; default_model_id: string }; user: { uid: string } }>;
  changeMember(api: unknown, userUid: string, role: string): Promise<{ uid: string; role: string }[]>;
  serviceAccount(api: unknown, name: string, use: (token: string) => unknown): Promise<{ type: string }>;
  signInAndOut(api: unknown): Promise<number>;
  approveProgram(api: unknown, userCode: string): Promise<string>;
  inviteAndRevoke(api: unknown, email: string): Promise<object>;
  acceptInvitation(api: unknown, code: string): Promise<string>;
  actions(api: unknown): Promise<string[]>;
}

let api: TestApi;
let ownTeam: string;
let owner: TestPrincipal;
let site: TestPrincipal;
let running: RunningProgram<Program>;
let program: Program;

beforeAll(async () => {
  api = await startTestApi();
  ownTeam = await api.identities.team();
  owner = await api.identities.user({ [ownTeam]: 'owner' });
  site = await api.identities.administrator();
  running = await loadProgram<Program>('administration', api);
  ({ program } = running);
});
afterAll(async () => {
  await api.close();
  running.close();
});

describe('administration through the generated client', () => {
  it('creates a team and a user, and changes a member', async () => {
    const { team, user } = await program.createTeam(running.client(site), 'Search', 'ada@example.test');
    expect(team).toMatchObject({ default_model_id: 'm' });
    expect(user.uid).toMatch(/^\w{22}$/);
    const { uid } = await api.identities.user({ [ownTeam]: 'member' });
    const members = await program.changeMember(running.client(owner), uid, 'viewer');
    expect(members).toContainEqual(expect.objectContaining({ uid, role: 'viewer' }));
  });

  it('creates and deletes a service account with a token, and reads the audit log', async () => {
    const use = (token: string) => running.client({ type: 'service_account', uid: '', token });
    expect(await program.serviceAccount(running.client(owner), 'bot', use)).toMatchObject({ type: 'service_account' });
    expect((await program.actions(running.client(owner))).slice(0, 4)).toEqual([
      'service_account.deleted',
      'token.revoked',
      'token.created',
      'service_account.created',
    ]);
  });

  it('signs a browser in and out', async () => {
    expect(await program.signInAndOut(running.client(owner))).toBe(1);
  });

  it('approves a program', async () => {
    const body = new URLSearchParams({ client_id: 'a program' });
    const response = await fetch(`${api.url}/api/v1/oauth/device_authorization`, { method: 'POST', body });
    const { user_code: userCode } = (await response.json()) as { user_code: string };
    expect(await program.approveProgram(running.client(owner), userCode)).toBe('a program');
  });

  it('invites a person and revokes the invitation', async () => {
    const offer = await program.inviteAndRevoke(running.client(owner), 'grace@example.test');
    expect(offer).toMatchObject({ email: 'grace@example.test', role: 'viewer' });
  });

  it('accepts an invitation', async () => {
    const body = { email: 'alan@example.test', role: 'viewer' };
    const { url } = (await api.request(201, 'POST /invitations', { token: owner.token, body })).body;
    const guest = running.client({ type: 'user', uid: '', token: '' });
    expect(await program.acceptInvitation(guest, new URL(url).hash.replace('#code=', ''))).toBe('invitation');
  });

  it('throws the documented problem of a rejected request (generated client: administration)', async () => {
    const error = await rejection(program.createTeam(running.client(owner), 'x', 'x@example.test'));
    expect(error).toBeInstanceOf(running.Refused);
    expect(error).toMatchObject({ problem: { status: 403, error_code: 'not_authorized' } });
  });

  it('calls every operation that the administration program uses', () => {
    expect(running.called()).toEqual(operationsIn('administration'));
  });
});
