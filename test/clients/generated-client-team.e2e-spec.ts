import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { loadProgram, operationsIn, rejection, type RunningProgram } from './typed-programs.js';

type Item = Record<string, unknown>;

interface Program {
  withEnvironment<T>(api: unknown, config: object, use: (uid: string) => Promise<T>): Promise<T>;
  withServer<T>(api: unknown, server: object, use: (item: { uid: string; url?: string }) => Promise<T>): Promise<T>;
  skills(api: unknown, repo?: string): Promise<Record<string, string[]>>;
  identity(api: unknown, environment: string, server: string): Promise<Item[]>;
  connectedWorkers(api: unknown): Promise<string[]>;
}

let api: TestApi;
let team: string;
let admin: TestPrincipal;
let running: RunningProgram<Program>;
let program: Program;

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team();
  admin = await api.identities.user({ [team]: 'admin' });
  running = await loadProgram<Program>('team', api);
  ({ program } = running);
});
afterAll(async () => {
  await api.close();
  running.close();
});

describe('team resources through the generated client', () => {
  it('creates an agent identity with an environment and an MCP server, and clears both references with an update', async () => {
    const client = running.client(admin);
    const [before, after] = await program.withEnvironment(
      client,
      { name: 'node', env: { TOKEN: 'x' } },
      (environment) =>
        program.withServer(client, { name: 'issues', url: 'https://mcp.example.com' }, (server) => {
          expect(server.url).toBe('https://mcp.example.com/moved');
          return program.identity(client, environment, server.uid);
        }),
    );
    expect(before).toMatchObject({
      name: 'reviewer',
      environment_id: expect.any(String),
      base_model: expect.not.stringMatching('none'),
      mcp_servers: { issues: { warp_id: expect.any(String) } },
      memory: { auto_memory: { enabled: false } },
    });
    expect(after).toMatchObject({ name: 'reviewer', base_model: before?.base_model });
    expect(after).not.toHaveProperty('environment_id');
    expect(after).not.toHaveProperty('mcp_servers');
  });

  it('returns an empty list of workers when no worker is connected', async () => {
    expect(await program.connectedWorkers(running.client(admin))).toEqual([]);
  });

  it('lists the available skills', async () => {
    const skills = await program.skills(running.client(admin), 'headrace/bundled');
    expect(skills['write-tests']).toEqual(['headrace/bundled:write-tests/SKILL.md headrace 0']);
    expect(await program.skills(running.client(admin))).toEqual(skills);
  });

  it('throws the documented problem of a rejected request (generated client: team)', async () => {
    const viewer = running.client(await api.identities.user({ [team]: 'viewer' }));
    const rejections: [() => Promise<unknown>, number, string][] = [
      [() => program.withEnvironment(viewer, {}, () => Promise.resolve()), 403, 'not_authorized'],
      [
        () => program.withServer(viewer, { name: 'x', url: 'https://x.example.com' }, () => Promise.resolve()),
        403,
        'not_authorized',
      ],
      [() => program.withServer(running.client(admin), { name: 'x' }, () => Promise.resolve()), 400, 'invalid_request'],
      [() => program.identity(running.client(admin), '0'.repeat(22), 'x'), 403, 'not_authorized'],
      [() => program.skills(running.client(admin), 'no-repository'), 400, 'invalid_request'],
    ];
    for (const [send, status, code] of rejections) {
      const error = await rejection(send());
      expect(error).toBeInstanceOf(running.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });

  it('calls every operation that the team program uses', () => {
    expect(running.called()).toEqual(operationsIn('team'));
  });
});
