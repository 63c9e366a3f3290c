import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal, FactoryBuilder } from '#testing';
import { loadProgram, operationsIn, rejection, type RunningProgram } from './typed-programs.js';

interface Program {
  find(api: unknown, query: string): Promise<{ uid: string } | undefined>;
  schemas(api: unknown): Promise<[string, string[]]>;
  manage(api: unknown, name: string): Promise<string>;
  give(api: unknown, uid: string, prompt: string): Promise<[string, string, string | undefined]>;
}

let api: TestApi;
let team: string;
let factory: string;
let member: TestPrincipal;
let running: RunningProgram<Program>;
let program: Program;

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team();
  member = await api.identities.user({ [team]: 'member' });
  factory = await new FactoryBuilder(api.database).build({ teamUid: team, name: 'Fixes builds' });
  running = await loadProgram<Program>('factories', api);
  ({ program } = running);
});
afterAll(async () => {
  await api.close();
  running.close();
});

describe('factories through the generated client', () => {
  it('finds a factory by name and returns the same run for a repeated start request', async () => {
    const client = running.client(member);
    expect(await program.find(client, 'nothing of the kind')).toBeUndefined();
    const { uid } = (await program.find(client, 'BUILDS')) ?? {};
    expect(uid).toBe(factory);
    const [run, agent, url] = await program.give(client, factory, 'Fix it.');
    expect(agent).toBe('oz');
    expect(url).toMatch(new RegExp(`^http://.*/runs/${run}$`));
    expect(await program.give(client, factory, 'Fix it.')).toEqual([run, agent, url]);
  });

  it('creates, updates and deletes a factory', async () => {
    const admin = running.client(await api.identities.user({ [team]: 'admin' }));
    expect(await program.manage(admin, 'CI failures')).toBe('CI failures');
  });

  it('gets the schemas of definition files', async () => {
    const [version, kinds] = await program.schemas(running.client(member));
    expect([version, kinds.sort()]).toEqual(['v1alpha1', ['agent', 'automation', 'factory', 'skill', 'webhook']]);
  });

  it('throws the documented problem of a rejected request (generated client: factories)', async () => {
    const viewer = running.client(await api.identities.user({ [team]: 'viewer' }));
    const rejections: [() => Promise<unknown>, number, string][] = [
      [() => program.find(viewer, ' '), 400, 'invalid_request'],
      [() => program.give(viewer, factory, 'Fix it.'), 403, 'not_authorized'],
      [() => program.give(viewer, '0'.repeat(22), 'Fix it.'), 404, 'resource_not_found'],
    ];
    for (const [send, status, code] of rejections) {
      const error = await rejection(send());
      expect(error).toBeInstanceOf(running.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });

  it('calls every operation that the factories program uses', () => {
    expect(running.called()).toEqual(operationsIn('factories'));
  });
});
