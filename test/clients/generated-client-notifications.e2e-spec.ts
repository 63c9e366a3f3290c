import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { loadProgram, operationsIn, rejection, type RunningProgram } from './typed-programs.js';

interface Program {
  secrets(api: unknown, url: string): Promise<string[]>;
  list(api: unknown): Promise<Record<string, string>>;
  test(api: unknown, uid: string): Promise<Record<string, unknown> | undefined>;
  rename(api: unknown, uid: string, name: string): Promise<string>;
  remove(api: unknown, uid: string): Promise<boolean>;
}

// An address in a public range, so that nobody is asked for its name; nothing here sends anything.
const URL = 'https://93.184.216.34/hooks';

let api: TestApi;
let admin: TestPrincipal;
let running: RunningProgram<Program>;
let program: Program;

beforeAll(async () => {
  api = await startTestApi();
  admin = await api.identities.user({ [await api.identities.team()]: 'admin' });
  running = await loadProgram<Program>('notifications', api);
  ({ program } = running);
});
afterAll(async () => {
  await api.close();
  running.close();
});

describe('notification webhooks through the generated client', () => {
  it('returns a notification secret only on creation and rotation, and lists a test message in the log', async () => {
    const client = running.client(admin);
    const [made, read, rotated] = await program.secrets(client, URL);
    for (const secret of [made, rotated]) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{32,}=*$/);
    expect(read).toBe('***');
    expect(rotated).not.toBe(made);
    const { ops: uid = '' } = await program.list(client);
    expect(await program.test(client, uid)).toMatchObject({ type: 'webhook.test', status: 'pending', attempts: [] });
    expect(await program.rename(client, uid, 'operators')).toBe('operators');
    expect(await program.list(client)).toEqual({ operators: uid });
    expect(await program.remove(client, uid)).toBe(true);
    expect(await program.list(client)).toEqual({});
  });

  it('throws the documented problem of a rejected request (generated client: notifications)', async () => {
    const stranger = running.client(await api.identities.user({ [await api.identities.team()]: 'viewer' }));
    const rejections: [() => Promise<unknown>, number, string][] = [
      [() => program.secrets(running.client(admin), 'nowhere'), 400, 'invalid_request'],
      [() => program.secrets(stranger, URL), 403, 'not_authorized'],
      [() => program.remove(running.client(admin), '0'.repeat(22)), 404, 'resource_not_found'],
    ];
    for (const [send, status, code] of rejections) {
      const error = await rejection(send());
      expect(error).toBeInstanceOf(running.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });

  it('calls every operation that the notifications program uses', () => {
    expect(running.called()).toEqual(operationsIn('notifications'));
  });
});
