import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { loadProgram, operationsIn, rejection, type RunningProgram } from './typed-programs.js';

interface Program {
  make(api: unknown, config: object): Promise<string>;
  rename(api: unknown, uid: string, name: string): Promise<{ name?: string; env?: object }>;
  grant(api: unknown, uid: string, email: string): Promise<() => Promise<void>>;
  link(api: unknown, uid: string, people: number, until: string): Promise<[string, () => Promise<void>]>;
  redeem(api: unknown, token: string): Promise<{ uid: string }>;
  usable(api: unknown): Promise<[string, string | undefined][]>;
  remove(api: unknown, uid: string): Promise<void>;
}

const UNTIL = '2099-01-01T00:00:00Z';

let api: TestApi;
let admin: TestPrincipal;
let guest: TestPrincipal;
let running: RunningProgram<Program>;
let program: Program;

beforeAll(async () => {
  api = await startTestApi();
  admin = await api.identities.user({ [await api.identities.team()]: 'admin' });
  guest = await api.identities.user({ [await api.identities.team()]: 'member' });
  running = await loadProgram<Program>('environments', api);
  ({ program } = running);
});
afterAll(async () => {
  await api.close();
  running.close();
});

describe('environments through the generated client', () => {
  it('updates an environment, shares it by grant and by link, and revokes both', async () => {
    const [owner, other] = [running.client(admin), running.client(guest)];
    const uid = await program.make(owner, { name: 'node', env: { TOKEN: 'x' } });
    expect(await program.rename(owner, uid, 'node-22')).toEqual({ name: 'node-22', env: { TOKEN: '***' } });
    const revokeGrant = await program.grant(owner, uid, `${guest.uid}@example.test`);
    expect(await program.usable(other)).toEqual([[uid, undefined]]);
    await api.request(200, 'POST /agent/runs', {
      token: guest.token,
      body: { prompt: 'Go.', config: { environment_id: uid } },
    });
    expect(await program.usable(other)).toEqual([[uid, 'QUEUED']]);
    await revokeGrant();
    expect(await program.usable(other)).toEqual([]);
    const [token, revokeLink] = await program.link(owner, uid, 1, UNTIL);
    expect((await program.redeem(other, token)).uid).toBe(uid);
    await revokeLink();
    expect(await program.usable(other)).toEqual([]);
    await program.remove(owner, uid);
  });

  it('throws the documented problem of a rejected request (generated client: environments)', async () => {
    const [owner, other] = [running.client(admin), running.client(guest)];
    const uid = await program.make(owner, {});
    const rejections: [() => Promise<unknown>, number, string][] = [
      [() => program.rename(other, uid, 'x'), 403, 'not_authorized'],
      [() => program.grant(owner, uid, 'nobody@example.test'), 400, 'invalid_request'],
      [() => program.link(other, uid, 1, UNTIL), 403, 'not_authorized'],
      [() => program.redeem(other, 'none'), 404, 'resource_not_found'],
      [() => program.remove(owner, '0'.repeat(22)), 404, 'resource_not_found'],
    ];
    for (const [send, status, code] of rejections) {
      const error = await rejection(send());
      expect(error).toBeInstanceOf(running.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });

  it('calls every operation that the environments program uses', () => {
    expect(running.called()).toEqual(operationsIn('environments'));
  });
});
