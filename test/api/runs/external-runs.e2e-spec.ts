import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SweepExecutions } from '#execution/executions';
import { TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem } from '../../support/api-requests.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

interface Registered {
  run_id: string;
  execution_id: string;
  token: string;
}
const register = async (status: number, body: object, headers: Record<string, string> = {}) =>
  fixture.request(status, 'POST /agent/runs/external', { token: fixture.member.token, body, headers });
const registered = async (body: object = {}): Promise<Registered> =>
  (await register(200, { prompt: 'Here.', ...body })).body as Registered;
const claim = ({ execution_id: id, token }: Registered) => TestRunner.claim(fixture.api, id, token);
const runOf = async ({ run_id: id }: Registered) =>
  (await fixture.request(200, `GET /agent/runs/${id}`, { token: fixture.member.token })).body;
const post = (status: number, { run_id: id }: Registered, what: string, body?: object) =>
  fixture.request(status, `POST /agent/runs/${id}/${what}`, { token: fixture.member.token, body });
const sweep = () => fixture.api.app.get(SweepExecutions).execute();
const turn = (id: string, followup?: string) =>
  [
    ['turn_started', { turn_id: id, prompt: 'go', ...(followup === undefined ? {} : { followup_id: followup }) }],
    ['turn_ended', { turn_id: id, stop_reason: 'end_turn' }],
  ] as const;
const lastEvent = async ({ run_id: id }: Registered, kind: string) => {
  const { body } = await fixture.request(200, `GET /agent/runs/${id}/timeline`, { token: fixture.member.token });
  return (body.events as { event_type: string; payload: object }[]).findLast(({ event_type: type }) => type === kind);
};

describe('an external run', () => {
  it('is created with an execution that only its token can claim, and needs no slot', async () => {
    const answer = await register(200, { prompt: 'Here.\nNow.', metadata: { by: 'me' } });
    const run = answer.body as Registered;
    expect(answer.body).toEqual({
      run_id: run.run_id,
      task_id: run.run_id,
      state: 'PENDING',
      execution_id: expect.stringMatching(/^\d+$/),
      token: expect.stringMatching(/^hrx_/),
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    await fixture.database.query(
      `SELECT execution_id FROM place_executions(ARRAY['hosted'], ARRAY[NULL], 1000, 1000, 60000, 'test')`,
    );
    expect(await runOf(run)).toMatchObject({
      state: 'PENDING',
      title: 'Here.',
      source: 'CLI',
      execution_location: 'LOCAL',
      is_run_type_cancellable: false,
      metadata: { by: 'me' },
    });
    const runner = await claim(run);
    expect(runner.assignment).toMatchObject({ run_id: run.run_id, prompt: 'Here.\nNow.' });
    await runner.startAgent();
    await runner.report(...turn('t1'));
    await runner.finish();
    expect(await runOf(run)).toMatchObject({ state: 'SUCCEEDED', is_sandbox_running: false });
    const held = await fixture.database.query('SELECT key FROM slot_pools WHERE used > 0');
    expect(held).toEqual([]);
  });

  it.each([
    [{}, 'CLI', 'LOCAL'],
    [{ source: 'LOCAL' }, 'LOCAL', 'LOCAL'],
    [{ source: 'GITHUB_ACTION' }, 'GITHUB_ACTION', 'REMOTE'],
    [{ source: 'CLI', execution_location: 'REMOTE' }, 'CLI', 'REMOTE'],
  ])('of %o has the source %s and the location %s', async (given, source, location) => {
    expect(await runOf(await registered(given))).toMatchObject({ source, execution_location: location });
  });

  it.each([
    [{ source: 'SCHEDULED_AGENT' }, '/source', 'must be one of CLI, LOCAL, GITHUB_ACTION'],
    [{ execution_location: 'MOON' }, '/execution_location', 'must be one of LOCAL, REMOTE'],
  ])('is rejected for the fields %o', async (given, pointer, detail) => {
    expectProblem(fixture.api, await register(400, { prompt: 'Here.', ...given }), 'invalid_request', [
      { pointer, detail },
    ]);
  });

  it('rejects a cancellation by a user with 422, for local runs and GitHub Actions', async () => {
    for (const given of [{}, { source: 'GITHUB_ACTION' }]) {
      const run = await registered(given);
      await claim(run);
      expectProblem(fixture.api, await post(422, run, 'cancel'), 'operation_not_supported');
    }
  });

  it('is cancelled by its runner before and after the agent started', async () => {
    for (const isStarted of [false, true]) {
      const run = await registered();
      const runner = await claim(run);
      if (isStarted) await runner.startAgent();
      await runner.finish('cancelled');
      const { state, status_message: message } = await runOf(run);
      expect({ state, message }).toEqual({
        state: 'CANCELLED',
        message: { message: 'Cancelled where it was executed.', retryable: false },
      });
      expect(await lastEvent(run, 'run_cancelled')).toMatchObject({
        payload: { principal: { type: 'user', uid: fixture.member.uid } },
      });
    }
  });

  it('ends in ERROR with infrastructure_timeout when it is not claimed or its runner is silent', async () => {
    const unclaimed = await registered();
    const unstarted = await registered();
    await claim(unstarted);
    const silent = await registered();
    await (await claim(silent)).startAgent();
    await fixture.api.advanceClock(fixture.api.settings.claimDeadline + 1);
    await sweep();
    expect((await runOf(unclaimed)).state).toBe('ERROR');
    expect((await runOf(silent)).state).toBe('INPROGRESS');
    await fixture.api.advanceClock(2 * fixture.api.settings.leaseTtl);
    await sweep();
    for (const run of [unclaimed, unstarted, silent]) {
      expect(await runOf(run)).toMatchObject({
        state: 'ERROR',
        status_message: {
          message: 'The machine that executed the run went silent.',
          error_code: 'infrastructure_timeout',
          retryable: true,
        },
      });
    }
  });

  it('accepts a follow-up while its session is open', async () => {
    const run = await registered({ config: { idle_timeout_minutes: 5 } });
    const runner = await claim(run);
    await runner.startAgent();
    await runner.report(...turn('t1'));
    const { body } = await post(200, run, 'followups', { message: 'And this.' });
    expect(body.outcome).toBe('live_session');
    const commands = await runner.call(200, 'GET commands', { version: '1', wait: '5' });
    expect(commands.body.prompts).toEqual([{ followup_id: body.followup_id, message: 'And this.' }]);
    await runner.report(...turn('t2', body.followup_id as string));
    expect((await runOf(run)).state).toBe('SUCCEEDED');
    await runner.finish();
  });

  it('becomes a hosted run by a follow-up after its end', async () => {
    const run = await registered();
    const runner = await claim(run);
    await runner.startAgent();
    await runner.report(...turn('t1'));
    await runner.finish();
    const { body } = await post(200, run, 'followups', { message: 'Continue.' });
    expect(body.outcome).toBe('handoff_execution');
    expect(await runOf(run)).toMatchObject({
      state: 'QUEUED',
      source: 'CLI',
      execution_location: 'REMOTE',
      is_run_type_cancellable: true,
    });
    const listed = async (location: string) => {
      const answer = await fixture.request(200, `GET /agent/runs?execution_location=${location}&limit=100`, {
        token: fixture.member.token,
      });
      return (answer.body.runs as Registered[]).some(({ run_id: id }) => id === run.run_id);
    };
    expect([await listed('LOCAL'), await listed('REMOTE')]).toEqual([false, true]);
    const next = await TestRunner.take(fixture.api, run.run_id);
    expect(next.assignment).toMatchObject({ prompt: null, resume: { session_id: 'session-1' } });
    await post(200, run, 'cancel');
  });

  it('becomes a hosted run by a follow-up that its session did not receive', async () => {
    const run = await registered();
    const runner = await claim(run);
    await runner.startAgent();
    await runner.report(...turn('t1'));
    await post(200, run, 'followups', { message: 'Just in time.' });
    await runner.finish();
    expect(await runOf(run)).toMatchObject({ state: 'QUEUED', execution_location: 'REMOTE' });
  });

  it('waits for its worker host when the follow-up makes it self-hosted', async () => {
    const run = await registered({ config: { worker_host: 'build-box' } });
    const runner = await claim(run);
    await runner.startAgent();
    await runner.report(...turn('t1'));
    await runner.finish();
    await post(200, run, 'followups', { message: 'Continue.' });
    const [row] = await fixture.database.query('SELECT pool, state FROM runs WHERE id = $1', [run.run_id]);
    expect(row).toEqual({ pool: 'worker:build-box', state: 'QUEUED' });
  });
});

describe('Idempotency-Key of a registration', () => {
  it('returns the same run with the same execution for the same key and body', async () => {
    const body = { prompt: 'Once.', source: 'GITHUB_ACTION' };
    const first = await register(200, body, { 'Idempotency-Key': 'ci-1' });
    const again = await register(200, body, { 'Idempotency-Key': 'ci-1' });
    expect(again.body).toEqual(first.body);
    expectProblem(
      fixture.api,
      await register(422, { prompt: 'Twice.' }, { 'Idempotency-Key': 'ci-1' }),
      'idempotency_key_reused',
    );
  });

  it('rejects the key of a queued run with 422', async () => {
    const body = { prompt: 'Queued.' };
    const { token } = fixture.member;
    await fixture.request(200, 'POST /agent/runs', { token, body, headers: { 'Idempotency-Key': 'ci-2' } });
    expectProblem(fixture.api, await register(422, body, { 'Idempotency-Key': 'ci-2' }), 'idempotency_key_reused');
  });
});

describe('registerExternalRun', () => {
  it('rejects a viewer with 403, a long prompt with 413, another type with 415, and a busy conversation with 409', async () => {
    const line = 'POST /agent/runs/external';
    const viewer = await fixture.request(403, line, { token: fixture.viewer.token, body: { prompt: 'x' } });
    expectProblem(fixture.api, viewer, 'not_authorized');
    expect((await register(413, { prompt: 'x'.repeat(1_048_577) })).body.error_code).toBe('payload_too_large');
    const text = { token: fixture.member.token, body: 'prompt', contentType: 'text/plain' };
    expectProblem(fixture.api, await fixture.request(415, line, text), 'unsupported_media_type');
    const open = await fixture.runs.build({
      by: fixture.member,
      team: fixture.team,
      state: 'INPROGRESS',
      conversation: true,
    });
    const busy = await fixture.request(200, `GET /agent/runs/${open.id}`, { token: fixture.member.token });
    const answer = await register(409, { prompt: 'x', conversation_id: busy.body.conversation_id });
    expectProblem(fixture.api, answer, 'conflict');
  });
});
