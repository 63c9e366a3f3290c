import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Caller, selectTeams, TokenAuthenticator } from '#platform/auth';
import { CreateRun, type CreateRunCommand } from '#domain/runs';
import { ObjectDisposal, ObjectStore } from '#platform/storage';
import { offerSkills, type TestPrincipal, TestRunner, type TestResponse } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, inTeam, UNKNOWN_RUN_ID, UNKNOWN_UID } from '../../support/api-requests.js';

const MAX_DEPTH = 2;
const FULL = (name: string): string => `acme/app:.agents/skills/${name}/SKILL.md`;

let fixture: ApiFixture;
let admin: TestPrincipal;
/** Admin of the other team. */
let otherAdmin: TestPrincipal;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { maxRunDepth: MAX_DEPTH, computeCostPerHour: 3.6 } });
  offerSkills(fixture.api.app);
  admin = await fixture.api.identities.user({ [fixture.team]: 'admin' });
  otherAdmin = await fixture.api.identities.user({ [fixture.otherTeam]: 'admin' });
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

type Json = TestResponse['body'];

const post = (status: number, fields: object, { token } = fixture.member, headers: Record<string, string> = {}) =>
  fixture.request(status, 'POST /agent/runs', { token, headers, body: { prompt: 'Go.', ...fields } });
const create = async (fields: object, who = fixture.member): Promise<string> =>
  (await post(200, fields, who)).body.run_id;
const read = async (runId: string, { token } = fixture.member): Promise<Json> =>
  (await fixture.request(200, `GET /agent/runs/${runId}`, { token })).body;
/** `agent_config` of a run for which nothing names a harness or a model. */
const NOTHING_NAMED = { harness: { type: 'oz' }, model_id: 'auto' };
const configOf = async (fields: object, who = fixture.member): Promise<Json> =>
  (await read(await create(fields, who), who)).agent_config;

let made = 0;
/** The uid of something new that an admin makes. */
async function make(
  path: 'agent/identities' | 'mcp-servers' | 'environments',
  fields: object,
  who = admin,
): Promise<string> {
  made += 1;
  const body = path === 'environments' ? { config: {}, ...fields } : { name: `thing-${made}`, ...fields };
  return (await fixture.request(201, `POST /${path}`, { token: who.token, body })).body.uid;
}

/** The same refusal of each, but for the trace. */
async function refusedAlike(status: number, code: 'invalid_request' | 'not_authorized', bodies: object[]) {
  const answers = [];
  for (const body of bodies) answers.push(await post(status, body));
  const shown = answers.map(({ body: { trace_id: _trace, ...rest } }): Json => rest);
  for (const answer of answers) expectProblem(fixture.api, answer, code, shown[0].errors);
  for (const other of shown.slice(1)) expect(other).toEqual(shown[0]);
  return shown[0];
}

/** As the parts of the platform create runs that nobody asks for by HTTP. */
async function createInside(command: Partial<CreateRunCommand>): Promise<string> {
  const principal = await fixture.api.app.get(TokenAuthenticator).authenticate(`Bearer ${fixture.member.token}`);
  const teams = typeof principal === 'string' ? null : selectTeams(principal, undefined);
  if (typeof principal === 'string' || !teams) throw new Error('The token of the member is not accepted.');
  const caller: Caller = { principal, permission: 'runs:write', ...teams };
  const asked = { prompt: 'Go.', source: 'SCHEDULED_AGENT', idempotency: null, ...command } as const;
  const result = await fixture.api.app.get(CreateRun).execute(caller, asked);
  if (result.kind !== 'created') throw new Error(result.kind);
  return result.runId;
}

describe('a parent', () => {
  it('makes the new run a descendant of all its ancestors, up to the maximum depth', async () => {
    const root = await create({});
    const child = await create({ parent_run_id: root });
    const grandchild = await create({ parent_run_id: child });
    expect((await read(grandchild)).parent_run_id).toBe(child);
    const below = async (runId: string): Promise<string[]> => {
      const { token } = fixture.member;
      const { body } = await fixture.request(200, `GET /agent/runs?ancestor_run_id=${runId}`, { token });
      return body.runs.map((run: { run_id: string }) => run.run_id).sort();
    };
    expect(await below(root)).toEqual([child, grandchild].sort());
    expect(await below(child)).toEqual([grandchild]);
    expectProblem(fixture.api, await post(400, { parent_run_id: grandchild }), 'invalid_request', [
      { pointer: '/parent_run_id', detail: `must not be ${MAX_DEPTH} levels deep already, which is the limit` },
    ]);
  });

  it('that is a personal run of a colleague is rejected like an unknown run', async () => {
    const { id: own } = await fixture.runs.build({ by: fixture.viewer });
    const { id: foreign } = await fixture.runs.build({ by: fixture.stranger, team: fixture.otherTeam });
    const bodies = [own, foreign, UNKNOWN_RUN_ID].map((parent_run_id) => ({ parent_run_id }));
    await refusedAlike(400, 'invalid_request', bodies);
  });

  it('passes on its metadata: the request overrides the parent, and both override labels of the platform', async () => {
    const parent = await create({ metadata: { a: 'parent', b: 'parent' } });
    const asked = await create({ parent_run_id: parent, metadata: { a: 'request' } });
    expect((await read(asked)).metadata).toEqual({ a: 'request', b: 'parent' });
    const stamped = await createInside({
      parentRunId: parent,
      metadata: { a: 'request' },
      automaticMetadata: { a: 'platform', b: 'platform', c: 'platform' },
    });
    expect((await read(stamped)).metadata).toEqual({ a: 'request', b: 'parent', c: 'platform' });
    const { id: plain } = await fixture.runs.build({ by: fixture.member, team: fixture.team });
    expect(await read(await create({ parent_run_id: plain }))).not.toHaveProperty('metadata');
  });

  it('and its run have at most 20 labels together', async () => {
    const labels = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${from + index}`, 'x']));
    const parent = await create({ metadata: labels(0, 15) });
    const merged = await create({ parent_run_id: parent, metadata: labels(10, 10) });
    expect(Object.keys((await read(merged)).metadata)).toHaveLength(20);
    expectProblem(
      fixture.api,
      await post(400, { parent_run_id: parent, metadata: labels(10, 11) }),
      'invalid_request',
      [{ pointer: '/metadata', detail: 'must not exceed 20 keys with those of the parent run' }],
    );
  });
});

describe('an agent identity', () => {
  it('counts towards the size limit of the configuration', async () => {
    const env = (name: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}_${index}`, 'x'.repeat(30_000)]));
    const config = { mcp_servers: { own: { command: 'serve', env: env('OWN', 17) } } };
    const uid = await make('agent/identities', { mcp_servers: { more: { command: 'serve', env: env('MORE', 2) } } });
    await create({ config });
    expectProblem(fixture.api, await post(413, { config, agent_identity_uid: uid }), 'payload_too_large', [
      { pointer: '/config', detail: 'must not exceed 524288 bytes as JSON, with what the agent identity brings' },
    ]);
  });

  const REMOTE = { url: 'https://docs.example.test/mcp', headers: { Authorization: 'swordfish-remote' } };
  const LOCAL = { command: 'serve', env: { TOKEN: 'swordfish-local' } };

  it('executes a run that a user created, with its defaults for fields that the request omits', async () => {
    const environment = await make('environments', {});
    const uid = await make('agent/identities', {
      name: 'reviewer',
      prompt: 'You review.',
      environment_id: environment,
      worker_host: 'identity-farm',
      base_model: 'identity-model',
      harness: { type: 'claude', reasoning_level: 'high' },
      skills: ['acme/app:review', 'acme/app:lint'],
      mcp_servers: { docs: REMOTE },
    });
    const item = await read(await create({ agent_identity_uid: uid }));
    expect(item.creator).toMatchObject({ type: 'user', uid: fixture.member.uid });
    expect(item.executor).toEqual({ type: 'service_account', uid, display_name: 'reviewer' });
    expect(item.agent_config).toEqual({
      name: 'review',
      base_prompt: 'You review.\n\n# Skill: review\n\nHow to review.\n\n# Skill: lint\n\nHow to lint.',
      environment_id: environment,
      worker_host: 'identity-farm',
      model_id: 'identity-model',
      harness: { type: 'claude', reasoning_level: 'high' },
      skills: [FULL('review'), FULL('lint')],
      skill_spec: FULL('review'),
      mcp_servers: { docs: { url: REMOTE.url, headers: { Authorization: '***' } } },
    });
  });

  it('is overridden by every field of the request, `warp` included, and MCP servers are merged', async () => {
    const [environment, own] = [await make('environments', {}), await make('environments', {})];
    const uid = await make('agent/identities', {
      prompt: 'You review.',
      environment_id: environment,
      worker_host: 'identity-farm',
      base_model: 'identity-model',
      harness: { type: 'claude' },
      skills: ['acme/app:review'],
      mcp_servers: { docs: REMOTE, local: { command: 'other' } },
    });
    const config = {
      base_prompt: 'You write.',
      environment_id: own,
      worker_host: 'warp',
      model_id: 'request-model',
      harness: { type: 'oz' },
      mcp_servers: { local: LOCAL },
    };
    const runId = await create({ agent_identity_uid: uid, skill: 'acme/app:write', config });
    expect((await read(runId)).agent_config).toEqual({
      ...config,
      name: 'write',
      base_prompt: 'You write.\n\nHow to write.',
      skills: [FULL('write')],
      skill_spec: FULL('write'),
      mcp_servers: {
        docs: { url: REMOTE.url, headers: { Authorization: '***' } },
        local: { command: 'serve', env: { TOKEN: '***' } },
      },
    });
    const [row] = await fixture.database.query('SELECT config::text FROM runs WHERE id = $1', [runId]);
    expect(row?.config).not.toContain('swordfish');
    const { assignment } = await TestRunner.take(fixture.api, runId);
    expect(assignment).toMatchObject({ base_prompt: 'You write.\n\nHow to write.', environment: { uid: own } });
    expect(assignment.mcp_servers).toEqual({ docs: REMOTE, local: LOCAL });
    expect(fixture.api.log.text).not.toContain('swordfish');
  });

  it('is rejected with the same 403 when it is unknown, of another team, deleted or not available', async () => {
    const unavailable = await make('agent/identities', { available: false });
    const deleted = await make('agent/identities', {});
    await fixture.request(204, `DELETE /agent/identities/${deleted}`, { token: admin.token });
    const foreign = await make('agent/identities', {}, otherAdmin);
    const account = await fixture.api.identities.serviceAccount(fixture.team);
    const uids = [UNKNOWN_UID, foreign, unavailable, deleted, account.uid, 'nonsense'];
    await refusedAlike(
      403,
      'not_authorized',
      uids.map((agent_identity_uid) => ({ agent_identity_uid })),
    );
  });

  it('is rejected for a personal run with 400', async () => {
    const uid = await make('agent/identities', {});
    expectProblem(fixture.api, await post(400, { agent_identity_uid: uid, team: false }), 'invalid_request', [
      { pointer: '/agent_identity_uid', detail: 'needs a run that the team owns' },
    ]);
  });

  it('executes the runs that it creates with its own token, with its defaults', async () => {
    const uid = await make('agent/identities', { name: 'planner', prompt: 'You plan.', base_model: 'identity-model' });
    const token = await fixture.api.identities.token({ type: 'service_account', uid });
    const self: TestPrincipal = { type: 'service_account', uid, token };
    const item = await read(await create({}, self), self);
    const principal = { type: 'service_account', uid, display_name: 'planner' };
    expect(item).toMatchObject({ creator: principal, executor: principal, scope: { type: 'Team', uid: fixture.team } });
    expect(item.agent_config).toEqual({
      base_prompt: 'You plan.',
      model_id: 'identity-model',
      harness: { type: 'oz' },
    });
    await fixture.request(200, `PUT /agent/identities/${uid}`, { token: admin.token, body: { available: false } });
    expectProblem(fixture.api, await post(403, {}, self), 'not_authorized');
  });

  it('whose environment was deleted is rejected until the request names another environment', async () => {
    const environment = await make('environments', {});
    const uid = await make('agent/identities', { environment_id: environment });
    await fixture.request(204, `DELETE /environments/${environment}`, { token: admin.token });
    expectProblem(fixture.api, await post(403, { agent_identity_uid: uid }), 'not_authorized', [
      { pointer: '/config/environment_id', detail: 'names an environment that was not found or is not accessible' },
    ]);
    const other = await make('environments', {});
    await create({ agent_identity_uid: uid, config: { environment_id: other } });
  });
});

describe('a team’s defaults', () => {
  it('set the worker host and the model that neither the request nor the identity sets', async () => {
    const team = await fixture.api.identities.team();
    await fixture.database.query(
      `UPDATE teams SET default_model_id = 'team-model', default_worker_host = 'team-farm' WHERE uid = $1`,
      [team],
    );
    const boss = await fixture.api.identities.user({ [team]: 'admin' });
    const defaults = { model_id: 'team-model', worker_host: 'team-farm', harness: { type: 'oz' } };
    expect(await configOf({}, boss)).toEqual(defaults);
    expect(await configOf({ config: { model_id: 'mine', worker_host: 'warp' } }, boss)).toEqual({
      model_id: 'mine',
      harness: { type: 'oz' },
      worker_host: 'warp',
    });
    const blank = await make('agent/identities', {}, boss);
    expect(await configOf({ agent_identity_uid: blank }, boss)).toEqual(defaults);
    const set = await make('agent/identities', { base_model: 'identity-model', worker_host: 'warp' }, boss);
    expect(await configOf({ agent_identity_uid: set }, boss)).toEqual({
      model_id: 'identity-model',
      worker_host: 'warp',
      harness: { type: 'oz' },
    });
    // Set before such names were refused: nothing would ever take the run.
    await fixture.database.query(`UPDATE teams SET default_worker_host = 'WARP' WHERE uid = $1`, [team]);
    const reserved = await fixture.api.identities.user({ [team]: 'member' });
    expectProblem(fixture.api, await post(400, {}, reserved), 'invalid_request', [
      { pointer: '/config/worker_host', detail: expect.stringContaining('exactly `warp`') },
    ]);
    await fixture.database.query(`UPDATE teams SET default_worker_host = 'team-farm' WHERE uid = $1`, [team]);
    // One's own runs are no runs of the team; and the team of the header counts.
    expect(await configOf({ team: false }, boss)).toEqual(NOTHING_NAMED);
    const both = await fixture.api.identities.user({ [team]: 'member', [fixture.team]: 'member' });
    for (const [picked, expected] of [
      [team, defaults],
      [fixture.team, NOTHING_NAMED],
    ] as const) {
      const { body } = await post(200, {}, both, inTeam(picked));
      expect((await read(body.run_id, both)).agent_config).toEqual(expected);
    }
  });
});

describe('an MCP server registered for the team', () => {
  const SERVER = { url: 'https://issues.example.test/mcp', headers: { Authorization: 'swordfish-registered' } };
  const naming = (...uids: string[]) => ({
    config: { mcp_servers: Object.fromEntries(uids.map((warp_id, index) => [`server-${index}`, { warp_id }])) },
  });

  it('is shown by its name, and sent to the runner with its credentials', async () => {
    const uid = await make('mcp-servers', SERVER);
    const own = { command: 'own', env: { TOKEN: 'swordfish-own' } };
    const runId = await create({ config: { mcp_servers: { issues: { warp_id: uid }, own } } });
    expect((await read(runId)).agent_config.mcp_servers).toEqual({
      issues: { warp_id: uid },
      own: { command: 'own', env: { TOKEN: '***' } },
    });
    const { assignment } = await TestRunner.take(fixture.api, runId);
    expect(assignment.mcp_servers).toEqual({ issues: SERVER, own });
    expect(fixture.api.log.text).not.toContain('swordfish');
  });

  it('is rejected with the same 403 when it is unknown, of another team, or used in a personal run', async () => {
    const uid = await make('mcp-servers', SERVER);
    const foreign = await make('mcp-servers', SERVER, otherAdmin);
    const bodies = [naming(UNKNOWN_UID), naming(foreign), naming('nonsense'), { ...naming(uid), team: false }];
    await refusedAlike(403, 'not_authorized', bodies);
    const second = await post(403, naming(uid, foreign));
    expect(second.body.detail).toContain('config.mcp_servers.server-1.warp_id');
  });

  it.each(['mcp-servers', 'environments'] as const)(
    '%s that go after the create: the run is FAILED, environment_setup_failed',
    async (path) => {
      const uid = await make(path, path === 'mcp-servers' ? SERVER : {});
      const runId = await create(path === 'mcp-servers' ? naming(uid) : { config: { environment_id: uid } });
      await fixture.request(204, `DELETE /${path}/${uid}`, { token: admin.token });
      await expect(TestRunner.take(fixture.api, runId)).rejects.toThrow('got 412');
      const what = path === 'mcp-servers' ? 'An MCP server' : 'The environment';
      expect(await read(runId)).toMatchObject({
        state: 'FAILED',
        is_sandbox_running: false,
        status_message: {
          error_code: 'environment_setup_failed',
          message: expect.stringContaining(`${what} of the run does not exist any more`),
        },
      });
    },
  );
});

describe('a conversation to continue', () => {
  const ended = async (shape: object = {}) => {
    const built = await fixture.runs.build({ by: fixture.member, team: fixture.team, state: 'SUCCEEDED', ...shape });
    return { ...built, conversation_id: built.conversationId ?? '' };
  };
  const CLAUDE = { config: { harness: { type: 'claude', reasoning_level: 'low' } } };

  it('is the conversation of the new run at once, and its runner resumes the session with the prompt', async () => {
    const { id, conversation_id } = await ended({ transcript: 'so far\n' });
    const runId = await create({ conversation_id, prompt: 'And then?', config: { base_prompt: 'Be brief.' } });
    expect(await read(runId)).toMatchObject({ state: 'QUEUED', conversation_id });
    const { assignment } = await TestRunner.take(fixture.api, runId);
    expect(assignment).toMatchObject({
      prompt: 'And then?',
      base_prompt: 'Be brief.',
      resume: { session_id: `session-${id}`, transcript: true },
    });
  });

  it('continues with its own harness, and another one is rejected with 400', async () => {
    const { conversation_id } = await ended(CLAUDE);
    expectProblem(
      fixture.api,
      await post(400, { conversation_id, config: { harness: { type: 'oz' } } }),
      'invalid_request',
      [{ pointer: '/config/harness/type', detail: 'must be claude, the harness of the conversation' }],
    );
    expect((await configOf({ conversation_id })).harness).toEqual(CLAUDE.config.harness);
    const builtIn = await ended();
    const identity = await make('agent/identities', { harness: { type: 'claude' } });
    const asked = { conversation_id: builtIn.conversation_id, agent_identity_uid: identity };
    await post(400, { ...asked, config: { harness: { type: 'claude' } } });
    expect((await configOf(asked)).harness).toEqual({ type: 'oz' });
  });

  it('that a viewer has continued in a personal run can still be continued by the team', async () => {
    const { conversation_id } = await ended();
    const viewer = await fixture.api.identities.user({ [fixture.team]: 'viewer', [fixture.otherTeam]: 'member' });
    await post(200, { conversation_id, team: false }, viewer);
    await post(200, { conversation_id });
  });

  it('with an open session or a run that has not started is rejected with 409', async () => {
    const { conversation_id } = await ended({ session: 'idle' });
    const waiting = await ended();
    await post(200, { conversation_id: waiting.conversation_id });
    await fixture.request(409, 'POST /agent/run', {
      token: fixture.member.token,
      body: { prompt: 'Go.', conversation_id: waiting.conversation_id },
    });
    const answer = await post(409, { conversation_id });
    expectProblem(fixture.api, answer, 'conflict');
    expect(answer.body).toMatchObject({ retryable: true, detail: expect.stringContaining('follow-up') });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('that is unknown, personal or of another team is rejected with the same 400', async () => {
    const own = await ended({ by: fixture.viewer, team: undefined });
    const foreign = await ended({ by: fixture.stranger, team: fixture.otherTeam });
    const ids = [UNKNOWN_RUN_ID, 'nonsense', own.conversation_id, foreign.conversation_id];
    await refusedAlike(
      400,
      'invalid_request',
      ids.map((conversation_id) => ({ conversation_id })),
    );
  });

  it('and attachments leave no objects behind without a run, and lose none with one: a replay, a reused key, a store that fails', async () => {
    const objects = (): string[] =>
      ['attachments', 'transcripts'].flatMap((kind) => {
        const directory = join(fixture.api.settings.dataDir, 'objects', kind);
        return existsSync(directory) ? readdirSync(directory).map((runId) => `${kind}/${runId}`) : [];
      });
    const { conversation_id } = await ended({ transcript: 'so far\n' });
    const other = await ended({ transcript: 'so far\n' });
    const attachments = [{ file_name: 'a.txt', mime_type: 'text/plain', data: 'YQ==' }];
    const key = { 'Idempotency-Key': `continues-${conversation_id}` };
    const first = await post(200, { conversation_id, attachments }, fixture.member, key);
    const kept = objects();
    expect(kept).toEqual(
      expect.arrayContaining([`attachments/${first.body.run_id}`, `transcripts/${first.body.run_id}`]),
    );
    const again = await post(200, { conversation_id, attachments }, fixture.member, key);
    expect(again.body.run_id).toBe(first.body.run_id);
    await post(422, { conversation_id, attachments, title: 'Another.' }, fixture.member, key);
    const store = fixture.api.app.get(ObjectStore);
    const put = store.put.bind(store);
    const spy = vi
      .spyOn(store, 'put')
      .mockImplementation((objectKey, ...rest) =>
        objectKey.startsWith('attachments/') ? Promise.reject(new Error('full')) : put(objectKey, ...rest),
      );
    try {
      await post(500, { conversation_id: other.conversation_id, attachments });
    } finally {
      spy.mockRestore();
    }
    await fixture.api.advanceClock(3_600_000);
    await fixture.api.app.get(ObjectDisposal).sweep();
    expect(objects()).toEqual(kept);
  });
});

describe('fields of a run', () => {
  it('started_at, run_time and request_usage are sums of two turns without the time between them', async () => {
    const runId = await create({});
    const before = await read(runId);
    expect(before.started_at).toBeNull();
    for (const field of ['run_time', 'request_usage', 'schedule', 'trigger_url'])
      expect(before).not.toHaveProperty(field);
    expect(before.session_link).toBe(`${fixture.api.url}/runs/${runId}`);
    const runner = await TestRunner.take(fixture.api, runId);
    await runner.startAgent();
    await runner.report(['turn_started', { turn_id: 't1', prompt: 'Go.' }]);
    await fixture.api.advanceClock(20_000);
    await runner.report(
      ['usage', { input_tokens: 100, output_tokens: 20, total_tokens: 120, cost_usd: 0.1 }],
      ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
    );
    const between = await read(runId);
    expect(between.request_usage).toEqual({
      total_tokens: 120,
      inference_cost_usd: 0.1,
      compute_cost_usd: expect.closeTo(0.02, 2),
    });
    await fixture.api.advanceClock(20_000);
    const { body: followup } = await fixture.request(200, `POST /agent/runs/${runId}/followups`, {
      token: fixture.member.token,
      body: { message: 'More.' },
    });
    await runner.report(['turn_started', { turn_id: 't2', prompt: 'More.', followup_id: followup.followup_id }]);
    await fixture.api.advanceClock(10_000);
    await runner.report(
      ['usage', { total_tokens: 30, cost_usd: 0.2, input_tokens: -1, output_tokens: 'many' }],
      ['turn_ended', { turn_id: 't2', stop_reason: 'end_turn' }],
    );
    const after = await read(runId);
    expect(after.request_usage).toEqual({
      total_tokens: 150,
      inference_cost_usd: 0.3,
      compute_cost_usd: expect.closeTo(0.03, 2),
    });
    // 20 s and 10 s of work, and what the requests took; 20 s between the turns.
    expect(after.run_time).toMatch(/^PT3\dS$/);
    expect(after.started_at).toBe(between.started_at);
    expect(Date.parse(after.started_at)).toBeGreaterThanOrEqual(Date.parse(before.created_at));
  });

  it('agent_config contains the default harness and model when the request names none', async () => {
    expect((await read(await create({}))).agent_config).toEqual({ harness: { type: 'oz' }, model_id: 'auto' });
    const config = { harness: { type: 'claude', model_id: 'large' } };
    expect((await read(await create({ config }))).agent_config).toEqual({ ...config, model_id: 'large' });
  });

  it('source is ORCHESTRATION for a run with a parent', async () => {
    const parent = await create({});
    expect(await read(parent)).toMatchObject({ source: 'API' });
    expect(await read(await create({ parent_run_id: parent }))).toMatchObject({ source: 'ORCHESTRATION' });
  });

  it('mcp_servers of a list are named by `name` or by their position', async () => {
    const mcp_servers = [{ command: 'serve' }, { name: 'docs', url: 'https://docs.example.test/mcp' }];
    expect((await read(await create({ config: { mcp_servers } }))).agent_config.mcp_servers).toEqual({
      'server-1': { command: 'serve' },
      docs: { url: 'https://docs.example.test/mcp' },
    });
  });

  it('trigger_url and schedule contain the cause of the run', async () => {
    const schedule = { schedule_id: 's-1', schedule_name: 'Nightly', cron_schedule: '0 3 * * *' };
    const triggerUrl = 'https://tracker.example.com/A-1';
    const runId = await createInside({ schedule, triggerUrl });
    expect(await read(runId)).toMatchObject({ source: 'SCHEDULED_AGENT', schedule, trigger_url: triggerUrl });
  });
});
