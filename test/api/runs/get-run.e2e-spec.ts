import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RunShape, TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, statementsDuring, UNKNOWN_RUN_ID } from '../../support/api-requests.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

const build = (shape: Omit<RunShape, 'by'> = {}) =>
  fixture.runs.build({ by: fixture.member, team: fixture.team, ...shape });
const get = (status: number, runId: string, token = fixture.member.token) =>
  fixture.request(status, `GET /agent/runs/${runId}`, { token });

const SETUP_FAILED = { message: expect.any(String), error_code: 'environment_setup_failed', retryable: false };
const LOST = { message: expect.any(String), error_code: 'infrastructure_timeout', retryable: true };

describe('a run', () => {
  it.each<[Omit<RunShape, 'by'>, { live: boolean; started: boolean; status?: object }]>([
    [{ state: 'QUEUED' }, { live: false, started: false }],
    [
      { state: 'QUEUED', conversation: true },
      { live: false, started: true },
    ],
    [{ state: 'PENDING' }, { live: true, started: false }],
    [{ state: 'CLAIMED' }, { live: true, started: false }],
    [{ state: 'INPROGRESS' }, { live: true, started: true }],
    [{ state: 'BLOCKED' }, { live: true, started: true }],
    [
      { state: 'BLOCKED', session: 'none' },
      { live: false, started: true },
    ],
    [{ state: 'SUCCEEDED' }, { live: false, started: true }],
    [
      { state: 'SUCCEEDED', session: 'idle' },
      { live: true, started: true },
    ],
    [{ state: 'FAILED' }, { live: false, started: false, status: SETUP_FAILED }],
    [
      { state: 'ERROR', conversation: true },
      { live: false, started: true, status: LOST },
    ],
    [{ state: 'CANCELLED' }, { live: false, started: false, status: { message: 'Cancelled.', retryable: false } }],
    [
      { state: 'CANCELLED', session: 'stopping' },
      { live: true, started: true, status: { message: 'Cancelled.', retryable: false } },
    ],
  ])('in the state %o has the fields of the state', async (shape, { live, started, status }) => {
    const { id, conversationId } = await build(shape);
    const { body } = await get(200, id);
    expect(body).toMatchObject({
      run_id: id,
      state: shape.state,
      is_sandbox_running: live,
      is_run_type_cancellable: true,
    });
    expect(body.status_message).toEqual(status);
    if (!started) {
      expect(body.started_at).toBeNull();
      for (const key of ['run_time', 'session_id', 'conversation_id']) expect(body).not.toHaveProperty(key);
      await fixture.request(404, `GET /agent/runs/${id}/conversation`, { token: fixture.member.token });
    } else {
      expect(body).toMatchObject({
        started_at: expect.stringMatching(/Z$/),
        session_id: `session-${id}`,
        conversation_id: conversationId,
      });
      expect(body.run_time).toMatch(/^PT\d+S$/);
      const { body: conversation } = await fixture.request(200, `GET /agent/runs/${id}/conversation`, {
        token: fixture.member.token,
      });
      expect(conversation.conversation_id).toBe(conversationId);
    }
  });

  it('includes the time of the current turn in run_time', async () => {
    const working = await build({ state: 'INPROGRESS' });
    const idle = await build({ state: 'SUCCEEDED', session: 'idle' });
    const before = { working: (await get(200, working.id)).body, idle: (await get(200, idle.id)).body };
    await fixture.api.advanceClock(65_000);
    expect((await get(200, idle.id)).body.run_time).toBe(before.idle.run_time);
    expect((await get(200, working.id)).body.run_time).toMatch(/^PT1M\d+S$/);
    expect((await get(200, working.id)).body.updated_at).toBe(before.working.updated_at);
  });

  it.each([
    ['self_hosted', 'API', 'REMOTE'],
    ['local', 'LOCAL', 'LOCAL'],
    ['github_action', 'GITHUB_ACTION', 'LOCAL'],
  ] as const)('of kind %s is returned as not cancellable', async (kind, source, location) => {
    const { id } = await build({ kind, state: 'INPROGRESS' });
    expect((await get(200, id)).body).toMatchObject({
      source,
      execution_location: location,
      is_run_type_cancellable: false,
    });
  });

  it('is found by its id in capitals', async () => {
    const { id } = await build();
    expect((await get(200, id.toUpperCase())).body.run_id).toBe(id);
  });

  it('takes two round trips at most, and one when its principals are cached', async () => {
    const colleague = await fixture.api.identities.user({ [fixture.team]: 'member' });
    const { id } = await fixture.runs.build({ by: colleague, team: fixture.team });
    expect(await statementsDuring(fixture.api, () => get(200, id))).toEqual(['runs.find', 'auth_describe_principals']);
    expect(await statementsDuring(fixture.api, () => get(200, id))).toEqual(['runs.find']);
  });
});

describe('authorization to read a run', () => {
  it('allows every member of its team', async () => {
    const { id } = await build();
    const bot = await fixture.api.identities.serviceAccount(fixture.team);
    const both = await fixture.api.identities.user({ [fixture.team]: 'viewer', [fixture.otherTeam]: 'member' });
    for (const { token } of [fixture.member, fixture.viewer, bot, both]) await get(200, id, token);
  });

  it('rejects other principals with 403', async () => {
    const { id } = await build();
    const loner = await fixture.api.identities.user();
    const botOfOthers = await fixture.api.identities.serviceAccount(fixture.otherTeam);
    for (const { token } of [fixture.stranger, loner, botOfOthers])
      expectProblem(fixture.api, await get(403, id, token), 'not_authorized');
  });

  it('allows only the owner of a personal run', async () => {
    const { id } = await fixture.runs.build({ by: fixture.member });
    await get(200, id);
    const owner = await fixture.api.identities.user({ [fixture.team]: 'owner' });
    const bot = await fixture.api.identities.serviceAccount(fixture.team);
    for (const { token } of [owner, fixture.viewer, bot])
      expectProblem(fixture.api, await get(403, id, token), 'not_authorized');
  });

  it.each(['', '/timeline', '/conversation', '/transcript', '/approvals'])(
    'rejects GET …%s of another team with 403',
    async (tail) => {
      const { id } = await build({ state: 'SUCCEEDED' });
      expectProblem(
        fixture.api,
        await fixture.request(403, `GET /agent/runs/${id}${tail}`, { token: fixture.stranger.token }),
        'not_authorized',
      );
    },
  );
});

describe('an agent whose model provider fails', () => {
  const DETAIL = { detail: 'Retry later.' };
  const RATE_LIMITED = {
    message: 'The model provider limits the rate of requests.',
    error_code: 'rate_limited',
    retryable: true,
    ...DETAIL,
  };

  async function working() {
    const { body } = await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'go' },
    });
    const runner = await TestRunner.take(fixture.api, body.run_id);
    return { runId: body.run_id as string, runner };
  }

  it('is shown in status_message and timeline while it retries and after it failed', async () => {
    const { runId, runner } = await working();
    await runner.startAgent();
    const waiting = { message: 'The agent waits for the rate limit of its model provider.', ...DETAIL };
    await runner.report(['turn_started', { turn_id: 't1', prompt: 'go' }], ['agent_waiting', waiting]);
    expect((await get(200, runId)).body).toMatchObject({ state: 'INPROGRESS', status_message: waiting });

    await runner.report(['agent_resumed'], ['message_chunk', { message_id: 'm', text: 'Hello' }]);
    expect((await get(200, runId)).body.status_message).toBeUndefined();

    await runner.report(
      ['agent_waiting', waiting],
      ['turn_ended', { turn_id: 't1', stop_reason: 'error', ...RATE_LIMITED }],
    );
    await runner.finish('failed', RATE_LIMITED);
    expect((await get(200, runId)).body).toMatchObject({ state: 'FAILED', status_message: RATE_LIMITED });
    const timeline = await fixture.request(200, `GET /agent/runs/${runId}/timeline`, { token: fixture.member.token });
    const events = (timeline.body.events as { event_type: string; payload?: object }[]).slice(-5);
    expect(events.map(({ event_type }) => event_type)).toEqual([
      'agent_waiting',
      'agent_resumed',
      'agent_waiting',
      'run_failed',
      'sandbox_shutdown',
    ]);
    expect(events[3]?.payload).toEqual(RATE_LIMITED);
  });

  it('fails before its first turn with the code that its runner reports', async () => {
    const { runId, runner } = await working();
    const failure = { ...RATE_LIMITED, error_code: 'external_authentication_required', retryable: false };
    await runner.finish('failed', failure);
    expect((await get(200, runId)).body).toMatchObject({ state: 'FAILED', status_message: failure });
  });
});

describe('invalid run ids', () => {
  const TAILS = ['', '/timeline', '/conversation', '/transcript', '/approvals'];
  it.each(TAILS)('GET …%s rejects a blank id with 400, and any other with 404', async (tail) => {
    const read = (status: number, id: string) =>
      fixture.request(status, `GET /agent/runs/${id}${tail}`, { token: fixture.member.token });
    expectProblem(fixture.api, await read(400, '%20'), 'invalid_request');
    for (const id of [
      UNKNOWN_RUN_ID,
      'nonsense',
      '1',
      '%00',
      `${UNKNOWN_RUN_ID}x`,
      UNKNOWN_RUN_ID.replaceAll('-', ''),
      '%F0%9F%98%80',
      "1'%20OR%20'1'='1",
    ]) {
      expectProblem(fixture.api, await read(404, id), 'resource_not_found');
    }
  });
});
