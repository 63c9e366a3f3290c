import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { inTeam } from '../../support/api-requests.js';

const KEY = 'sk-value-of-the-team-0123456789';

let directory: string;
let harnessesFile: string;
let api: TestApi;
let fixture: ApiFixture;

const write = (harnesses: object) => writeFile(harnessesFile, JSON.stringify({ harnesses }));

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'headrace-harnesses-'));
  harnessesFile = join(directory, 'harnesses.json');
  await write({
    house: {
      command: 'house-agent',
      install_hint: 'ask the house',
      secrets: { HOUSE_KEY: 'house-key', OTHER: 'none' },
    },
  });
  api = await startTestApi({ settings: { harnessesFile } });
  fixture = await ApiFixture.over(api);
});
afterAll(async () => {
  await api.close();
  await rm(directory, { recursive: true });
});

interface Harness {
  id: string;
  builtin: boolean;
  install_hint?: string;
  installations: Record<string, unknown>[];
}

async function list(token: string, headers: Record<string, string> = {}): Promise<Map<string, Harness>> {
  const { body } = await api.request(200, 'GET /agent/harnesses', { token, headers });
  return new Map((body.harnesses as Harness[]).map((harness) => [harness.id, harness]));
}

const hosted = (instance: string, harnesses: object[], age = '0 s') =>
  api.database.query(`INSERT INTO harness_installations VALUES ($1, $2::jsonb, headrace.now() - $3::interval)`, [
    `00000000-0000-4000-8000-${instance.padStart(12, '0')}`,
    JSON.stringify(harnesses),
    age,
  ]);

/** A worker's connection; one that is not alive is only left behind. */
const worker = (team: string, host: string, harnesses: object[], isAlive = true) =>
  api.database.query(
    `INSERT INTO worker_connections (id, team_uid, worker_host, instance, connected_at, last_seen_at, alive_until, harnesses)
     SELECT gen_random_uuid(), $1, $2, gen_random_uuid(), now, now, now + $3::interval, $4::jsonb FROM headrace.now() AS now`,
    [team, host, isAlive ? '1 minute' : '-1 s', JSON.stringify(harnesses)],
  );

describe('listHarnesses', () => {
  it('returns built-in, known and configured harnesses, and where they are installed', async () => {
    await hosted('1', [
      { id: 'claude', installed: false },
      { id: 'codex', installed: false },
    ]);
    await hosted('2', [{ id: 'claude', installed: true, version: '1.2.3' }]);
    await hosted('3', [{ id: 'gemini', installed: true }], '10 minutes');
    await worker(fixture.team, 'mine', [{ id: 'claude', installed: false }]);
    await worker(fixture.team, 'mine', [
      { id: 'own', installed: true, version: '7' },
      { id: 'claude', installed: false, install_hint: 'as the worker says' },
      { id: 'hinted', installed: false },
    ]);
    await worker(fixture.team, 'other', [{ id: 'hinted', installed: false, install_hint: 'see page Agents' }]);
    await worker(fixture.team, 'gone', [{ id: 'claude', installed: true }], false);
    await worker(fixture.otherTeam, 'theirs', [{ id: 'claude', installed: true }]);
    const harnesses = await list(fixture.viewer.token);
    expect([...harnesses.keys()][0]).toBe('oz');
    expect(harnesses.get('oz')).toEqual({ id: 'oz', builtin: true, installations: [] });
    const last_seen_at = expect.stringMatching(/^\d{4}-.*Z$/) as string;
    expect(harnesses.get('claude')).toEqual({
      id: 'claude',
      builtin: false,
      install_hint: expect.stringContaining('npm install'),
      installations: [
        { location: 'hosted', installed: true, version: '1.2.3', last_seen_at },
        { location: 'mine', installed: false, last_seen_at },
      ],
    });
    expect(harnesses.get('codex')?.installations).toEqual([{ location: 'hosted', installed: false, last_seen_at }]);
    expect(harnesses.get('gemini')?.installations).toEqual([]);
    expect(harnesses.get('house')).toMatchObject({ builtin: false, install_hint: 'ask the house' });
    expect(harnesses.get('own')).toEqual({
      id: 'own',
      builtin: false,
      installations: [{ location: 'mine', installed: true, version: '7', last_seen_at }],
    });
    expect(harnesses.get('hinted')).toEqual({
      id: 'hinted',
      builtin: false,
      install_hint: 'see page Agents',
      installations: [
        { location: 'mine', installed: false, last_seen_at },
        { location: 'other', installed: false, last_seen_at },
      ],
    });
  });

  it('returns workers of all teams of the caller, or of the chosen team; 403 for a team of others', async () => {
    const placesOf = async (headers = {}): Promise<unknown[]> =>
      ((await list(fixture.adminOfBoth.token, headers)).get('claude')?.installations ?? []).map(
        ({ location }) => location,
      );
    expect(await placesOf()).toEqual(['hosted', 'mine', 'theirs']);
    expect(await placesOf(inTeam(fixture.otherTeam))).toEqual(['hosted', 'theirs']);
    await api.request(403, 'GET /agent/harnesses', { token: fixture.member.token, headers: inTeam(fixture.otherTeam) });
  });

  it('prevents the start of the API when the file is invalid', async () => {
    try {
      await write({ house: { args: [] } });
      const start = startTestApi({ database: api.database, settings: { harnessesFile } });
      await expect(start).rejects.toThrow('HARNESSES_FILE, harnesses.house.command: is required');
    } finally {
      await write({ house: { command: 'house-agent' } });
    }
  });
});

describe('the secrets of an agent', () => {
  const put = (name: string, value: string) =>
    api.request(200, `PUT /secrets/${name}`, { token: fixture.owner.token, body: { value } });
  const create = async (config: object): Promise<string> => {
    const body = { prompt: 'Hello', config };
    return (await api.request(200, 'POST /agent/runs', { token: fixture.member.token, body })).body.run_id as string;
  };

  it('are sent to the runner, separately from those of set-up commands, and are not returned', async () => {
    await put('anthropic', KEY);
    const runId = await create({
      harness: { type: 'claude' },
      harness_auth_secrets: { claude_auth_secret_name: 'anthropic', codex_auth_secret_name: 'anthropic' },
    });
    const { assignment } = await TestRunner.take(api, runId);
    expect(assignment).toMatchObject({ agent_secrets: { auth: KEY }, secrets: {} });
    const { text } = await api.request(200, `GET /agent/runs/${runId}`, { token: fixture.member.token });
    expect(text).toContain('"claude_auth_secret_name":"anthropic"');
    expect(text).not.toContain(KEY);
  });

  it('are those that the file names for the agent and that the team has', async () => {
    await put('house-key', 'of-the-house-0123456789');
    const { assignment } = await TestRunner.take(api, await create({ harness: { type: 'house' } }));
    expect(assignment.agent_secrets).toEqual({ variables: { HOUSE_KEY: 'of-the-house-0123456789' } });
    const other = await TestRunner.take(api, await create({ harness: { type: 'codex' } }));
    expect(other.assignment.agent_secrets).toEqual({});
  });

  it('must be of the team: 403, and a run fails when one is deleted before its start', async () => {
    const named = (name: string) => ({
      harness: { type: 'claude' },
      harness_auth_secrets: { claude_auth_secret_name: name },
    });
    const { body: problem } = await api.request(403, 'POST /agent/runs', {
      token: fixture.stranger.token,
      body: { prompt: 'Hello', config: named('anthropic') },
    });
    const field = 'config.harness_auth_secrets.claude_auth_secret_name';
    expect(problem.detail).toBe(`\`${field}\` names a managed secret that was not found or is not accessible.`);
    expect(problem.errors).toMatchObject([{ pointer: `/${field.replaceAll('.', '/')}` }]);
    await api.request(403, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'Hello', team: false, config: named('anthropic') },
    });

    await put('short-lived', KEY);
    const runId = await create(named('short-lived'));
    await api.request(204, 'DELETE /secrets/short-lived', { token: fixture.owner.token });
    await expect(TestRunner.take(api, runId)).rejects.toThrow('412');
    const { body: run } = await api.request(200, `GET /agent/runs/${runId}`, { token: fixture.member.token });
    expect(run).toMatchObject({
      state: 'FAILED',
      status_message: { message: expect.stringContaining('short-lived'), error_code: 'environment_setup_failed' },
    });
  });
});
