import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FactoryProgram, startFactoryProgram, operationsIn, rejection } from './typed-programs.js';

type Files = readonly { readonly path: string; readonly content: string }[];

interface Program {
  apply(api: unknown, factoryUid: string, files: Files): Promise<[boolean, number][]>;
  check(api: unknown, factoryUid: string, files: Files): Promise<string[]>;
  refused(api: unknown, factoryUid: string, files: Files): Promise<(string | undefined)[]>;
  files(api: unknown, factoryUid: string): Promise<Files>;
}

let session: FactoryProgram<Program>;
let { api, team, factory, admin, running } = {} as FactoryProgram<Program>;
let program: Program;

beforeAll(async () => {
  session = await startFactoryProgram<Program>('definitions');
  ({ api, team, factory, admin, running } = session);
  ({ program } = running);
});
afterAll(() => session.close());

const FACTORY = { path: 'factory.yaml', content: 'schemaVersion: v1alpha1\nname: Builds\n' };
const AGENT = { path: 'agents/helper/agent.md', content: '---\n---\n\nYou help.\n' };
const BROKEN = { path: 'webhooks/ci.yaml', content: 'secretName: nowhere\n' };

describe('the program that keeps a factory as files, with openapi-fetch', () => {
  it('sees what would be done, does it, and gets it back', async () => {
    const client = running.client(admin);
    expect(await program.apply(client, factory, [FACTORY, AGENT])).toEqual([
      [false, 2],
      [true, 2],
    ]);
    expect(await program.files(client, factory)).toEqual([AGENT, FACTORY]);
    expect(await program.check(client, factory, [FACTORY, AGENT])).toEqual([]);
  });

  it('is informed what is wrong, and where', async () => {
    const client = running.client(admin);
    const [only, ...more] = await program.check(client, factory, [FACTORY, BROKEN]);
    expect(only).toMatch(/^webhooks\/ci\.yaml:1:13: /);
    expect(more).toEqual([]);
    expect(await program.refused(client, factory, [FACTORY, BROKEN])).toEqual(['webhooks/ci.yaml']);
  });

  it('is refused with the problem that the document describes', async () => {
    const viewer = running.client(await api.identities.user({ [team]: 'viewer' }));
    const refusals: [() => Promise<unknown>, number, string][] = [
      [() => program.apply(running.client(admin), factory, []), 400, 'invalid_request'],
      [() => program.files(viewer, factory), 403, 'not_authorized'],
      [() => program.check(running.client(admin), '0'.repeat(22), [FACTORY]), 404, 'resource_not_found'],
    ];
    for (const [refusal, status, code] of refusals) {
      const error = await rejection(refusal());
      expect(error).toBeInstanceOf(running.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });

  it('has called every operation that it can', () => {
    expect(running.called()).toEqual(operationsIn('definitions'));
  });
});
