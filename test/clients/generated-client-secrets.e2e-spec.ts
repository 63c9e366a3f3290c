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

describe('the program that keeps secrets, with openapi-fetch', () => {
  it('sets, lists and removes them', async () => {
    const client = running.client(admin);
    expect([await program.put(client, 'ci', 'a'), await program.put(client, 'ci', 'b')]).toEqual([1, 2]);
    expect(await program.list(client)).toEqual(['ci']);
    expect(await program.remove(client, 'ci')).toBe(true);
    expect(await program.list(client)).toEqual([]);
  });

  it('is refused with the problem that the document describes', async () => {
    const viewer = running.client(await api.identities.user({ [await api.identities.team()]: 'viewer' }));
    const refusals: [() => Promise<unknown>, number, string][] = [
      [() => program.put(running.client(admin), 'ci', ''), 400, 'invalid_request'],
      [() => program.put(viewer, 'ci', 'x'), 403, 'not_authorized'],
      [() => program.remove(running.client(admin), 'nothing'), 404, 'resource_not_found'],
    ];
    for (const [refusal, status, code] of refusals) {
      const error = await rejection(refusal());
      expect(error).toBeInstanceOf(running.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });

  it('has called every operation that it can', () => {
    expect(running.called()).toEqual(operationsIn('secrets'));
  });
});
