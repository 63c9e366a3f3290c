import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { offerSkills, type TestPrincipal, TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import {
  expectProblem,
  requestAnyStatus,
  sendConcurrently,
  statementsDuring,
  UNKNOWN_RUN_ID,
} from '../../support/api-requests.js';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let fixture: ApiFixture;
/** On both teams, so that a team has to be picked. */
let both: TestPrincipal;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  offerSkills(fixture.api.app);
  both = await fixture.api.identities.user({ [fixture.team]: 'member', [fixture.otherTeam]: 'member' });
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

const create = async (
  body: object,
  { token }: TestPrincipal = fixture.member,
  headers: Record<string, string> = {},
): Promise<string> => (await fixture.request(200, 'POST /agent/runs', { token, body, headers })).body.run_id as string;
const read = async (runId: string, { token }: TestPrincipal = fixture.member) =>
  (await fixture.request(200, `GET /agent/runs/${runId}`, { token })).body;

describe('a created run', () => {
  it('is queued, and the response contains every field', async () => {
    const { body, headers } = await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'Say hello.' },
    });
    expect(body).toEqual({ run_id: expect.stringMatching(UUID_V7), task_id: body.run_id, state: 'QUEUED' });
    expect(headers.get('deprecation')).toBeNull();
  });

  it('can be read at once with its first event', async () => {
    const runId = await create({ prompt: '\n  Say hello.\nThen leave.' });
    expect(await read(runId)).toEqual({
      run_id: runId,
      task_id: runId,
      root_run_id: runId,
      title: 'Say hello.',
      state: 'QUEUED',
      prompt: '\n  Say hello.\nThen leave.',
      submitted_prompt: '\n  Say hello.\nThen leave.',
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
      started_at: null,
      finished_at: null,
      source: 'API',
      execution_location: 'REMOTE',
      creator: {
        type: 'user',
        uid: fixture.member.uid,
        display_name: 'Mia Member',
        email: `${fixture.member.uid}@example.test`,
      },
      executor: {
        type: 'user',
        uid: fixture.member.uid,
        display_name: 'Mia Member',
        email: `${fixture.member.uid}@example.test`,
      },
      agent_config: { harness: { type: 'oz' }, model_id: 'auto' },
      session_link: `${fixture.api.url}/runs/${runId}`,
      is_sandbox_running: false,
      is_run_type_cancellable: true,
      debug_agent_available: false,
      scope: { type: 'Team', uid: fixture.team },
    });
    const { body } = await fixture.request(200, `GET /agent/runs/${runId}/timeline`, { token: fixture.member.token });
    expect(body.events).toEqual([
      {
        event_uuid: expect.any(String),
        run_id: runId,
        sequence: 1,
        event_type: 'run_created',
        occurred_at: (await read(runId)).created_at,
        payload: { source: 'API', creator: { type: 'user', uid: fixture.member.uid } },
      },
    ]);
  });

  it('keeps the fields of the request', async () => {
    const config = {
      name: 'nightly',
      model_id: 'model-1',
      base_prompt: 'Be brief.',
      worker_host: 'build-farm-1',
      harness: { type: 'oz', model_id: 'model-2', reasoning_level: 'high' },
      mcp_servers: { docs: { url: 'https://docs.example.test/mcp' } },
      idle_timeout_minutes: 60,
      computer_use_enabled: true,
      computer_use_model_id: 'model-3',
      session_sharing: { public_access: 'VIEWER' },
      memory_stores: [{ uid: 'store-1', access: 'read_only', instructions: 'Look here first.' }],
      inference_providers: { aws: { disabled: false, region: 'eu-central-1', role_arn: 'arn:aws:iam::1:role/x' } },
      credential_strategy: null,
      permission_policy: 'allow_list',
      permission_allow_list: ['npm test'],
      max_runtime_minutes: 30,
      max_cost_usd: 1.5,
      max_tokens: 100_000,
      on_worker_lost: 'fail',
      runner_id: 'runner-1',
    };
    const metadata = { ticket: 'ABC-1', 'a.b_c-d': 'ü'.repeat(128), empty: '' };
    const parent = await create({ prompt: 'Plan.' });
    const runId = await create({
      prompt: 'Continue.',
      title: 'Ünïcode 😀',
      config,
      metadata,
      mode: 'plan',
      interactive: true,
      parent_run_id: parent,
    });
    expect(await read(runId)).toMatchObject({
      title: 'Ünïcode 😀',
      agent_config: config,
      metadata,
      parent_run_id: parent,
      is_run_type_cancellable: false,
    });
    const [row] = await fixture.database.query<{ mode: string; interactive: boolean }>(
      'SELECT mode, interactive FROM runs WHERE id = $1',
      [runId],
    );
    expect(row).toEqual({ mode: 'plan', interactive: true });
  });

  it('takes its skill from `skill` or the first of `skills`, and its name from the skill', async () => {
    const full = (name: string): string => `acme/app:.agents/skills/${name}/SKILL.md`;
    const cases = [
      [{ config: { skill_spec: 'acme/app:review' } }, [full('review')], 'review'],
      [{ config: { skills: [full('lint'), 'acme/app:test'] } }, [full('lint'), full('test')], 'lint'],
      [{ skill: ':deploy', config: { skill_spec: 'acme/app:review', name: 'mine' } }, [full('deploy')], 'mine'],
    ] as const;
    for (const [request, skills, name] of cases) {
      const item = await read(await create({ prompt: 'Do it.', ...request }));
      expect(item.agent_config).toMatchObject({ skill_spec: skills[0], name, skills });
      expect(item.agent_skill.full_path).toBe(skills[0]);
    }
  });

  it('is created in one round trip', async () => {
    await create({ prompt: 'Warm up.' });
    const plain = await statementsDuring(fixture.api, () =>
      create({ prompt: 'Count.', config: { worker_host: 'warp', skill_spec: 'a/b:c' }, metadata: { a: 'b' } }),
    );
    expect(plain).toEqual(['runs.create-group']);
    const keyed = await statementsDuring(fixture.api, () =>
      create({ prompt: 'Count.' }, fixture.member, { 'Idempotency-Key': 'count' }),
    );
    expect(keyed).toEqual(['runs.create-group-once']);
    const replayed = await statementsDuring(fixture.api, () =>
      create({ prompt: 'Count.' }, fixture.member, { 'Idempotency-Key': 'count' }),
    );
    expect(replayed).toHaveLength(2);
  });

  it('reports at_capacity when it waits for a slot', async () => {
    const { team, bot } = await busyTeam();
    const { body } = await fixture.request(200, 'POST /agent/runs', { token: bot.token, body: { prompt: 'Second.' } });
    expect(body).toMatchObject({ state: 'QUEUED', at_capacity: true });
    await fixture.database.query('UPDATE slot_pools SET used = 0 WHERE key = $1', [`team:${team}`]);
    const later = await fixture.request(200, 'POST /agent/runs', { token: bot.token, body: { prompt: 'Third.' } });
    expect(later.body).not.toHaveProperty('at_capacity');
  });
});

/** A team all of whose slots are taken. */
async function busyTeam(): Promise<{ team: string; bot: TestPrincipal }> {
  const team = await fixture.api.identities.team();
  const bot = await fixture.api.identities.serviceAccount(team);
  await fixture.runs.build({ by: bot, team, state: 'INPROGRESS' });
  await fixture.database.query('UPDATE slot_pools SET capacity = used WHERE key = $1', [`team:${team}`]);
  return { team, bot };
}

describe('runs created at the same time', () => {
  it('share round trips, and each caller gets its own run', async () => {
    const { bot } = await busyTeam();
    const requests = Array.from({ length: 60 }, (_, index) => ({
      who: index % 3 === 0 ? bot : fixture.member,
      body: { prompt: `Prompt ${index}.`, metadata: { index: String(index) }, config: { name: `name-${index}` } },
    }));
    let answers: { run_id: string; at_capacity?: boolean }[] = [];
    const statements = await statementsDuring(fixture.api, async () => {
      answers = await sendConcurrently(fixture.api, 'LOCK TABLE headrace.runs IN SHARE MODE', () =>
        requests.map(
          async ({ who, body }) => (await fixture.request(200, 'POST /agent/runs', { token: who.token, body })).body,
        ),
      );
    });
    expect(statements.filter((name) => name === 'runs.create-group').length).toBeLessThan(requests.length / 2);
    expect(answers.map(({ at_capacity }) => at_capacity === true)).toEqual(requests.map(({ who }) => who === bot));
    for (const [index, { who, body }] of requests.entries()) {
      const item = await read(answers[index]?.run_id ?? '', who);
      expect(item).toMatchObject({
        prompt: body.prompt,
        metadata: body.metadata,
        agent_config: body.config,
        creator: { uid: who.uid },
      });
    }
    const [row] = await fixture.database.query<{ events: number }>(
      `SELECT count(*)::int AS events FROM run_events WHERE run_id = ANY($1) AND kind = 'run_created' AND seq = 1`,
      [answers.map(({ run_id }) => run_id)],
    );
    expect(row?.events).toBe(requests.length);
  });

  it('do not fail together when the database rejects one of them', async () => {
    await fixture.database.query(`ALTER TABLE runs ADD CONSTRAINT ck_refuses CHECK (title <> 'refuse me') NOT VALID`);
    try {
      const titles = Array.from({ length: 30 }, (_, index) => (index === 17 ? 'refuse me' : `take me ${index}`));
      const answers = await sendConcurrently(fixture.api, 'LOCK TABLE headrace.runs IN SHARE MODE', () =>
        titles.map((title) =>
          requestAnyStatus(fixture.api, 'POST /agent/runs', {
            token: fixture.member.token,
            body: { prompt: 'x', title },
          }),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(titles.map((title) => (title === 'refuse me' ? 500 : 200)));
      expect(new Set(answers.map(({ body }) => body.run_id)).size).toBe(titles.length);
    } finally {
      await fixture.database.query('ALTER TABLE runs DROP CONSTRAINT ck_refuses');
    }
  });
});

describe('secrets in the configuration', () => {
  const SECRETS = ['tell-nobody-env', 'tell-nobody-header', 'tell-nobody-key'];

  it('are not returned or logged, are encrypted in the table, and reach the runner', async () => {
    const config = {
      mcp_servers: {
        one: { command: 'one', args: ['--stdio'], env: { ONE_TOKEN: SECRETS[0], LEVEL: 'tell-nobody-key' } },
        two: { url: 'https://two.example.test', headers: { 'X-Two': SECRETS[1] } },
      },
    };
    const created = await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'Use them.', config },
    });
    const answers = [created];
    for (const tail of ['', '/timeline'])
      answers.push(
        await fixture.request(200, `GET /agent/runs/${created.body.run_id}${tail}`, { token: fixture.member.token }),
      );
    answers.push(await fixture.request(200, 'GET /agent/runs?limit=1', { token: fixture.member.token }));
    expect(answers[1]?.body.agent_config.mcp_servers).toEqual({
      one: { command: 'one', args: ['--stdio'], env: { ONE_TOKEN: '***', LEVEL: '***' } },
      two: { url: 'https://two.example.test', headers: { 'X-Two': '***' } },
    });
    const shown = answers.map(({ text }) => text).join('\n') + fixture.api.log.text;
    for (const secret of SECRETS) expect(shown).not.toContain(secret);
    const [row] = await fixture.database.query('SELECT config::text FROM runs WHERE id = $1', [created.body.run_id]);
    for (const secret of SECRETS) expect(row?.config).not.toContain(secret);
    const runner = await TestRunner.take(fixture.api, created.body.run_id);
    expect(runner.assignment.mcp_servers).toEqual(config.mcp_servers);
  });

  it('are not quoted in the rejection of the field that contains them', async () => {
    const config = {
      mcp_servers: {
        one: {
          command: 'one',
          url: 'https://one.example.test',
          env: { A: SECRETS[0] },
          headers: { B: { c: SECRETS[1] } },
        },
      },
    };
    const answer = await fixture.request(400, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: SECRETS[2], config },
    });
    for (const secret of SECRETS) expect(answer.text + fixture.api.log.text).not.toContain(secret);
  });
});

describe('the owner of a run', () => {
  const scopeOf = async (runId: string, who: TestPrincipal) => (await read(runId, who)).scope;

  it('is the team of a caller with one team, or the caller on request', async () => {
    expect(await scopeOf(await create({ prompt: 'x' }), fixture.member)).toEqual({ type: 'Team', uid: fixture.team });
    expect(await scopeOf(await create({ prompt: 'x', team: true }), fixture.member)).toEqual({
      type: 'Team',
      uid: fixture.team,
    });
    expect(await scopeOf(await create({ prompt: 'x', team: false }), fixture.member)).toEqual({
      type: 'User',
      uid: fixture.member.uid,
    });
  });

  it('is always the team of a service account', async () => {
    const bot = await fixture.api.identities.serviceAccount(fixture.team, 'builder-bot');
    const runId = await create({ prompt: 'x', team: false }, bot, { 'X-Headrace-Team-Uid': fixture.otherTeam });
    const item = await read(runId, bot);
    expect(item.scope).toEqual({ type: 'Team', uid: fixture.team });
    expect(item.creator).toEqual({ type: 'service_account', uid: bot.uid, display_name: 'builder-bot' });
  });

  it('is a caller with several teams, unless the header chooses a team', async () => {
    expect(await scopeOf(await create({ prompt: 'x' }, both), both)).toEqual({ type: 'User', uid: both.uid });
    for (const header of ['X-Headrace-Team-Uid', 'X-Warp-Team-Uid']) {
      expect(await scopeOf(await create({ prompt: 'x' }, both, { [header]: fixture.otherTeam }), both)).toEqual({
        type: 'Team',
        uid: fixture.otherTeam,
      });
    }
    const answer = await fixture.request(400, 'POST /agent/runs', {
      token: both.token,
      body: { prompt: 'x', team: true },
    });
    expect(answer.body.errors[0].pointer).toBe('/team');
  });

  it('is not a team of others, nor one that the caller may only read', async () => {
    const foreign = {
      token: fixture.member.token,
      body: { prompt: 'x' },
      headers: { 'X-Headrace-Team-Uid': fixture.otherTeam },
    };
    expectProblem(fixture.api, await fixture.request(403, 'POST /agent/runs', foreign), 'not_authorized');
    expectProblem(
      fixture.api,
      await fixture.request(403, 'POST /agent/runs', { token: fixture.viewer.token, body: { prompt: 'x' } }),
      'not_authorized',
    );
  });
});

const NOT_ACCESSIBLE = 'was not found or is not accessible';

describe('references of a run', () => {
  const refused = async (status: number, body: object, who = fixture.member) =>
    fixture.request(status, 'POST /agent/runs', { token: who.token, body: { prompt: 'x', ...body } });

  it('accept an environment of the team or of the caller', async () => {
    const owner = await fixture.api.identities.user({ [fixture.team]: 'owner' });
    const { body: environment } = await fixture.request(201, 'POST /environments', {
      token: owner.token,
      body: { config: { name: 'node' } },
    });
    const item = await read(await create({ prompt: 'x', config: { environment_id: environment.uid } }));
    expect(item.agent_config.environment_id).toBe(environment.uid);
    const foreign = await refused(403, { config: { environment_id: environment.uid } }, fixture.stranger);
    const unknown = await refused(403, { config: { environment_id: 'A'.repeat(22) } });
    expectProblem(fixture.api, foreign, 'not_authorized', [
      { pointer: '/config/environment_id', detail: `names an environment that ${NOT_ACCESSIBLE}` },
    ]);
    expect(foreign.body.detail).toBe(unknown.body.detail);
  });

  it.each([
    ['an MCP server', { config: { mcp_servers: { one: { warp_id: 'nope' } } } }, '/config/mcp_servers/one/warp_id'],
    [
      'a managed secret',
      { config: { harness_auth_secrets: { claude_auth_secret_name: 'nope' } } },
      '/config/harness_auth_secrets/claude_auth_secret_name',
    ],
    ['an agent identity', { agent_identity_uid: 'A'.repeat(22) }, '/agent_identity_uid'],
  ])('reject %s that does not exist with 403', async (name, body, pointer) => {
    const errors = [{ pointer, detail: `names ${name} that ${NOT_ACCESSIBLE}` }];
    expectProblem(fixture.api, await refused(403, body), 'not_authorized', errors);
  });

  it('accept a parent run that the caller may read, and reject any other id with the same 400', async () => {
    const { id: foreign } = await fixture.runs.build({ by: fixture.stranger, team: fixture.otherTeam });
    const answers = [];
    for (const parent of [foreign, UNKNOWN_RUN_ID, 'not-an-id'])
      answers.push(await refused(400, { parent_run_id: parent }));
    for (const answer of answers) {
      expectProblem(fixture.api, answer, 'invalid_request', [
        { pointer: '/parent_run_id', detail: 'must be a run that exists and that you may see' },
      ]);
    }
  });
});

describe('POST /agent/run', () => {
  const post = (status: number, body: unknown, headers: Record<string, string> = {}, token = fixture.member.token) =>
    fixture.request(status, 'POST /agent/run', { token, body, headers });

  it('creates a run, with headers for its deprecation and its successor', async () => {
    const { body, headers } = await post(200, { prompt: 'Say hello.' });
    expect(body).toEqual({ run_id: expect.stringMatching(UUID_V7), task_id: body.run_id, state: 'QUEUED' });
    expect(headers.get('deprecation')).toMatch(/^@\d+$/);
    expect(headers.get('link')).toBe('</api/v1/agent/runs>; rel="successor-version"');
    expect((await read(body.run_id as string)).source).toBe('API');
  });

  it('rejects the same requests as POST /agent/runs', async () => {
    const blank = await post(400, { prompt: ' ' });
    expectProblem(fixture.api, blank, 'invalid_request', [{ pointer: '/prompt', detail: 'must not be blank' }]);
    expectProblem(fixture.api, await post(413, { prompt: 'x'.repeat(1_048_577) }), 'payload_too_large', [
      { pointer: '/prompt', detail: 'must not exceed 1048576 bytes in UTF-8' },
    ]);
    expectProblem(fixture.api, await post(403, { prompt: 'x' }, {}, fixture.viewer.token), 'not_authorized');
    expectProblem(
      fixture.api,
      await fixture.request(415, 'POST /agent/run', {
        token: fixture.member.token,
        body: 'prompt=x',
        contentType: 'text/plain',
      }),
      'unsupported_media_type',
    );
    const key = { 'Idempotency-Key': 'deprecated-1' };
    await post(200, { prompt: 'one' }, key);
    expectProblem(fixture.api, await post(422, { prompt: 'two' }, key), 'idempotency_key_reused');
  });
});
