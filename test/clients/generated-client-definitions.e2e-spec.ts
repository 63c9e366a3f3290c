import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FactoryProgram, startFactoryProgram, operationsIn, rejection } from './typed-programs.js';

type Files = readonly { readonly path: string; readonly content: string }[];

interface Program {
  apply(api: unknown, factoryUid: string, files: Files): Promise<[boolean, number][]>;
  check(api: unknown, factoryUid: string, files: Files): Promise<string[]>;
  checkFiles(api: unknown, files: Files): Promise<string[]>;
  versions(api: unknown): Promise<string[]>;
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

describe('factory definitions through the generated client', () => {
  it('previews, applies and exports a factory definition', async () => {
    const client = running.client(admin);
    expect(await program.apply(client, factory, [FACTORY, AGENT])).toEqual([
      [false, 2],
      [true, 2],
    ]);
    expect(await program.files(client, factory)).toEqual([AGENT, FACTORY]);
    expect(await program.check(client, factory, [FACTORY, AGENT])).toEqual([]);
  });

  it('returns the file and position of each error in a definition', async () => {
    const client = running.client(admin);
    const [only, ...more] = await program.check(client, factory, [FACTORY, BROKEN]);
    expect(only).toMatch(/^webhooks\/ci\.yaml:1:13: /);
    expect(more).toEqual([]);
    expect(await program.refused(client, factory, [FACTORY, BROKEN])).toEqual(['webhooks/ci.yaml']);
  });

  it('checks files without a factory, and lists the versions of definitions', async () => {
    const client = running.client(admin);
    expect(await program.checkFiles(client, [FACTORY, BROKEN])).toEqual([]);
    expect(await program.checkFiles(client, [FACTORY, { ...BROKEN, content: 'secretNames: ci\n' }])).toHaveLength(2);
    expect(await program.versions(client)).toEqual(['v1alpha1']);
  });

  it('throws the documented problem of a rejected request (generated client: definitions)', async () => {
    const viewer = running.client(await api.identities.user({ [team]: 'viewer' }));
    const rejections: [() => Promise<unknown>, number, string][] = [
      [() => program.apply(running.client(admin), factory, []), 400, 'invalid_request'],
      [() => program.files(viewer, factory), 403, 'not_authorized'],
      [() => program.check(running.client(admin), '0'.repeat(22), [FACTORY]), 404, 'resource_not_found'],
    ];
    for (const [send, status, code] of rejections) {
      const error = await rejection(send());
      expect(error).toBeInstanceOf(running.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });

  it('calls every operation that the definitions program uses', () => {
    expect(running.called()).toEqual(operationsIn('definitions'));
  });
});
