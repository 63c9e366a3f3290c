import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { loadProgram, operationsIn, rejection, type RunningProgram } from './typed-programs.js';

interface Program {
  put(api: unknown, name: string, value: string): Promise<number>;
  list(api: unknown): Promise<string[]>;
  remove(api: unknown, name: string): Promise<boolean>;
}

let api: TestApi;
let admin: TestPrincipal;
let running: RunningProgram<Program>;
let program: Program;

beforeAll(async () => {
  api = await startTestApi();
  admin = await api.identities.user({ [await api.identities.team()]: 'admin' });
  running = await loadProgram<Program>('secrets', api);
  ({ program } = running);
});
afterAll(async () => {
  await api.close();
  running.close();
});

describe('managed secrets through the generated client', () => {
  it('creates, updates, lists and deletes a managed secret', async () => {
    const client = running.client(admin);
    expect([await program.put(client, 'ci', 'a'), await program.put(client, 'ci', 'b')]).toEqual([1, 2]);
    expect(await program.list(client)).toEqual(['ci']);
    expect(await program.remove(client, 'ci')).toBe(true);
    expect(await program.list(client)).toEqual([]);
  });

  it('throws the documented problem of a rejected request (generated client: secrets)', async () => {
    const viewer = running.client(await api.identities.user({ [await api.identities.team()]: 'viewer' }));
    const rejections: [() => Promise<unknown>, number, string][] = [
      [() => program.put(running.client(admin), 'ci', ''), 400, 'invalid_request'],
      [() => program.put(viewer, 'ci', 'x'), 403, 'not_authorized'],
      [() => program.remove(running.client(admin), 'nothing'), 404, 'resource_not_found'],
    ];
    for (const [send, status, code] of rejections) {
      const error = await rejection(send());
      expect(error).toBeInstanceOf(running.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });

  it('calls every operation that the secrets program uses', () => {
    expect(running.called()).toEqual(operationsIn('secrets'));
  });
});
