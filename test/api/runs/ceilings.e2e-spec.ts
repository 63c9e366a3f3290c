import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SweepExecutions } from '#execution/executions';
import { Metrics } from '#platform/observability';
import { TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem } from '../../support/api-requests.js';

const MINUTE = 60_000;

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

const token = (): string => fixture.member.token;
const create = async (config: object, fields: object = {}): Promise<string> =>
  (await fixture.request(200, 'POST /agent/runs', { token: token(), body: { prompt: 'Go.', config, ...fields } })).body
    .run_id;
const get = async (runId: string) => (await fixture.request(200, `GET /agent/runs/${runId}`, { token: token() })).body;
const timeline = async (runId: string): Promise<string[]> =>
  (await fixture.request(200, `GET /agent/runs/${runId}/timeline`, { token: token() })).body.events.map(
    ({ event_type: type }: { event_type: string }) => type,
  );
const followUp = (status: number, runId: string) =>
  fixture.request(status, `POST /agent/runs/${runId}/followups`, { token: token(), body: { message: 'Continue.' } });
/** A runner whose agent works on a first turn; its lease outlives whatever the test does to the clock. */
const working = async (config: object, fields: object = {}): Promise<{ runId: string; runner: TestRunner }> => {
  const runId = await create(config, fields);
  const runner = await TestRunner.take(fixture.api, runId);
  await runner.startAgent();
  await runner.report(['turn_started', { turn_id: 't1', prompt: 'Go.' }]);
  await keepLease(runId);
  return { runId, runner };
};
const keepLease = (runId: string) =>
  fixture.database.query(
    `UPDATE executions SET lease_expires_at = headrace.now() + interval '1 year' WHERE run_id = $1 AND ended_at IS NULL`,
    [runId],
  );
const sweep = async (): Promise<void> => {
  const sweeper = fixture.api.app.get(SweepExecutions, { strict: false });
  await Promise.all([sweeper.execute(), sweeper.execute()]);
};
const usage = (figures: object) => ['usage', figures] as const;
const ENDED = ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }] as const;

describe('a limit on the usage of the agent', () => {
  it.each([
    [
      'max_cost_usd',
      { max_cost_usd: 0.5 },
      { cost_usd: 0.6253 },
      'The run reached its limit max_cost_usd: its agent used 0.6253 of 0.5 US dollars.',
    ],
    [
      'max_tokens',
      { max_tokens: 1000 },
      { input_tokens: 900, output_tokens: 100 },
      'The run reached its limit max_tokens: its agent used 1000 of 1000 tokens.',
    ],
    [
      'max_tokens, where the agent tells a total',
      { max_tokens: 1000 },
      { input_tokens: 10, output_tokens: 10, total_tokens: 5000 },
      'The run reached its limit max_tokens: its agent used 5000 of 1000 tokens.',
    ],
  ])(
    'on %s fails the run at once with the reason, and asks its runner to stop',
    async (_what, config, figures, message) => {
      const { runId, runner } = await working(config);
      expect((await runner.report(usage(figures))).desired).toBe('stop');
      expect(await get(runId)).toMatchObject({
        state: 'FAILED',
        status_message: { message, error_code: 'budget_exceeded', retryable: false },
        is_sandbox_running: true,
      });
      await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'cancelled' }]);
      await runner.finish('cancelled');
      expect(await get(runId)).toMatchObject({
        state: 'FAILED',
        is_sandbox_running: false,
        status_message: { message },
      });
      expect((await timeline(runId)).filter((type) => type === 'run_failed')).toHaveLength(1);
    },
  );

  it('fails the run when the end of a turn reports that it is reached', async () => {
    const { runId, runner } = await working({ max_tokens: 100 });
    expect((await runner.report(usage({ total_tokens: 100 }), ENDED)).desired).toBe('stop');
    expect(await get(runId)).toMatchObject({ state: 'FAILED', status_message: { error_code: 'budget_exceeded' } });
    expect(await timeline(runId)).not.toContain('run_done');
    await runner.finish('cancelled');
    expect((await timeline(runId)).filter((type) => type === 'run_failed')).toHaveLength(1);
  });

  it('applies to the sum of all turns', async () => {
    const { runId, runner } = await working({ max_tokens: 100 });
    await runner.report(usage({ total_tokens: 60 }), ENDED);
    expect((await get(runId)).state).toBe('SUCCEEDED');
    await followUp(200, runId);
    await runner.report(['turn_started', { turn_id: 't2', prompt: 'Continue.' }], usage({ total_tokens: 40 }));
    expect(await get(runId)).toMatchObject({ state: 'FAILED', request_usage: { total_tokens: 100 } });
  });

  it('is counted in the metrics of its harness', async () => {
    const counted = async (): Promise<number> =>
      Number(
        /^headrace_agent_tokens_total\{harness="oz",direction="input"\} (\d+)$/m.exec(await metrics.render())?.[1] ?? 0,
      );
    const metrics = fixture.api.app.get(Metrics, { strict: false });
    const before = await counted();
    const { runner } = await working({});
    await runner.report(usage({ input_tokens: 30 }), usage({ input_tokens: 12 }));
    expect(await counted()).toBe(before + 42);
  });

  it('does not end a run below it, nor a run without a limit', async () => {
    for (const config of [{ max_tokens: 100, max_cost_usd: 1 }, {}]) {
      const { runId, runner } = await working(config);
      const figures =
        'max_tokens' in config ? { total_tokens: 99, cost_usd: 0.99 } : { total_tokens: 1e9, cost_usd: 1e6 };
      expect((await runner.report(usage(figures), ENDED)).desired).toBe('run');
      expect((await get(runId)).state).toBe('SUCCEEDED');
    }
  });

  it('of 0 is reached by the first usage, and not by a report of no usage', async () => {
    const { runId, runner } = await working({ max_cost_usd: 0 });
    expect((await runner.report(usage({ cost_usd: 0 }))).desired).toBe('run');
    expect((await runner.report(usage({ cost_usd: 0.0001 }))).desired).toBe('stop');
    expect((await get(runId)).state).toBe('FAILED');
  });

  it('also ends a BLOCKED run, and its decision is rejected afterwards', async () => {
    const { runId, runner } = await working({ max_tokens: 10 }, { interactive: true });
    await runner.report(
      ['permission_requested', { approval_id: 'q', title: 'Deploy', options: [], ask: true }],
      usage({ total_tokens: 10 }),
    );
    expect((await get(runId)).state).toBe('FAILED');
    const body = { decision: 'allow' };
    const answer = await fixture.request(409, `POST /agent/runs/${runId}/approvals/q`, { token: token(), body });
    expectProblem(fixture.api, answer, 'conflict');
  });

  it('drops pending messages, and a turn that starts meanwhile does not change the state', async () => {
    const { runId, runner } = await working({ max_tokens: 10 });
    const { body: followup } = await followUp(200, runId);
    await runner.report(usage({ total_tokens: 10 }), ENDED);
    expect((await get(runId)).state).toBe('FAILED');
    await runner.report(['turn_started', { turn_id: 't2', prompt: 'Continue.', followup_id: followup.followup_id }]);
    expect((await get(runId)).state).toBe('FAILED');
    await runner.finish('cancelled');
    expect((await get(runId)).state).toBe('FAILED');
  });

  it('does not change a run that was cancelled', async () => {
    const { runId, runner } = await working({ max_tokens: 10 });
    await fixture.request(200, `POST /agent/runs/${runId}/cancel`, { token: token() });
    await runner.report(usage({ total_tokens: 10 }));
    expect((await get(runId)).state).toBe('CANCELLED');
    expect(await timeline(runId)).not.toContain('run_failed');
  });

  it('applies to self-hosted runs, which users cannot cancel', async () => {
    const runId = await create({ max_tokens: 10, worker_host: 'build-farm' });
    await fixture.database.query(`UPDATE runs SET pool = 'hosted' WHERE id = $1`, [runId]);
    const runner = await TestRunner.take(fixture.api, runId);
    await runner.startAgent();
    expect(
      (await runner.report(['turn_started', { turn_id: 't1', prompt: 'Go.' }], usage({ total_tokens: 11 }))).desired,
    ).toBe('stop');
    expect((await get(runId)).status_message.error_code).toBe('budget_exceeded');
  });

  it('fences a runner that does not stop', async () => {
    const { runId, runner } = await working({ max_tokens: 10 });
    await runner.report(usage({ total_tokens: 10 }));
    await fixture.api.advanceClock(2 * MINUTE);
    await sweep();
    expect(await get(runId)).toMatchObject({ state: 'FAILED', is_sandbox_running: false });
    await runner.call(412, 'POST beat', {}, { lease_epoch: runner.assignment.lease_epoch });
  });
});

describe('a limit on the working time of the agent', () => {
  it('is enforced once by the sweeper, to the minute', async () => {
    const { runId, runner } = await working({ max_runtime_minutes: 10 });
    await fixture.api.advanceClock(9 * MINUTE);
    await sweep();
    expect((await get(runId)).state).toBe('INPROGRESS');
    await fixture.api.advanceClock(MINUTE);
    await sweep();
    expect(await get(runId)).toMatchObject({
      state: 'FAILED',
      status_message: {
        message: expect.stringMatching(
          /^The run reached its limit max_runtime_minutes: its agent worked for 10(\.\d)? of 10 minutes\.$/,
        ),
        error_code: 'budget_exceeded',
      },
    });
    expect((await runner.report(['message_chunk', { message_id: 'm', text: 'Still here.' }])).desired).toBe('stop');
    await sweep();
    expect((await timeline(runId)).filter((type) => type === 'run_failed')).toHaveLength(1);
  });

  it('adds up turns, without idle sessions and the time between them', async () => {
    const { runId, runner } = await working({ max_runtime_minutes: 10, idle_timeout_minutes: 60 });
    await fixture.api.advanceClock(6 * MINUTE);
    await runner.report(ENDED);
    await fixture.api.advanceClock(30 * MINUTE);
    await keepLease(runId);
    await sweep();
    await followUp(200, runId);
    await runner.report(['turn_started', { turn_id: 't2', prompt: 'Continue.' }]);
    await keepLease(runId);
    await fixture.api.advanceClock(3 * MINUTE);
    await sweep();
    expect((await get(runId)).state).toBe('INPROGRESS');
    await fixture.api.advanceClock(MINUTE + 1000);
    await sweep();
    expect((await get(runId)).state).toBe('FAILED');
  });

  it('applies to a turn that begins in the batch in which the turn before ends', async () => {
    const { runId, runner } = await working({ max_runtime_minutes: 1 });
    const { followup_id: followupId } = (await followUp(200, runId)).body;
    await runner.report(ENDED, ['turn_started', { turn_id: 't2', prompt: 'Continue.', followup_id: followupId }]);
    await keepLease(runId);
    await fixture.api.advanceClock(MINUTE + 1000);
    await sweep();
    expect(await get(runId)).toMatchObject({ status_message: { error_code: 'budget_exceeded' } });
  });

  it('does not count the time of pending permission requests', async () => {
    const { runId, runner } = await working(
      { max_runtime_minutes: 10, approval_timeout_minutes: 600 },
      { interactive: true },
    );
    await fixture.api.advanceClock(5 * MINUTE);
    const question = (id: string) =>
      ['permission_requested', { approval_id: id, title: id, options: [], ask: true }] as const;
    // Two that overlap: the time is not taken off twice.
    await runner.report(question('one'), question('two'));
    await keepLease(runId);
    await fixture.api.advanceClock(60 * MINUTE);
    await sweep();
    expect((await get(runId)).state).toBe('BLOCKED');
    for (const id of ['one', 'two'])
      await fixture.request(200, `POST /agent/runs/${runId}/approvals/${id}`, {
        token: token(),
        body: { decision: 'allow' },
      });
    await sweep();
    await fixture.api.advanceClock(4 * MINUTE);
    await sweep();
    expect((await get(runId)).state).toBe('INPROGRESS');
    await fixture.api.advanceClock(MINUTE + 1000);
    await sweep();
    expect((await get(runId)).state).toBe('FAILED');
  });

  it('is DEFAULT_MAX_RUNTIME for a hosted run without one, and rejects its follow-ups afterwards', async () => {
    const { runId } = await working({});
    await fixture.api.advanceClock(23 * 60 * MINUTE);
    await sweep();
    expect((await get(runId)).state).toBe('INPROGRESS');
    await fixture.api.advanceClock(60 * MINUTE);
    await sweep();
    expect(await get(runId)).toMatchObject({
      state: 'FAILED',
      status_message: { message: expect.stringContaining('max_runtime_minutes'), error_code: 'budget_exceeded' },
    });
    expectProblem(fixture.api, await followUp(403, runId), 'budget_exceeded');
  });

  it('of the run overrides DEFAULT_MAX_RUNTIME', async () => {
    const { runId } = await working({ max_runtime_minutes: 48 * 60 });
    await fixture.api.advanceClock(30 * 60 * MINUTE);
    await sweep();
    expect((await get(runId)).state).toBe('INPROGRESS');
  });

  it('does not end a run whose turn ended in time before a late sweep', async () => {
    const { runId, runner } = await working({ max_runtime_minutes: 1 });
    await fixture.api.advanceClock(30_000);
    await runner.report(ENDED);
    await runner.finish();
    await fixture.api.advanceClock(10 * MINUTE);
    await sweep();
    expect((await get(runId)).state).toBe('SUCCEEDED');
  });
});

describe('a follow-up to a run that has reached a limit', () => {
  it.each([
    ['while its session is being stopped', false],
    ['when it has ended', true],
  ])('on %s is rejected with 403 and the reason, without a change', async (_when, hasEnded) => {
    const { runId, runner } = await working({ max_tokens: 10 });
    await runner.report(usage({ total_tokens: 12 }), ENDED);
    if (hasEnded) await runner.finish('cancelled');
    const answer = await followUp(403, runId);
    expectProblem(fixture.api, answer, 'budget_exceeded');
    expect(answer.body.detail).toBe(
      'The run reached its limit max_tokens: its agent used 12 of 10 tokens. It cannot be continued; start another run.',
    );
    expect((await get(runId)).state).toBe('FAILED');
    expect(await timeline(runId)).not.toContain('followup_received');
  });

  it('continues a run that ended for another reason below its limit', async () => {
    const { runId, runner } = await working({ max_tokens: 10, max_runtime_minutes: 10, max_cost_usd: 1 });
    await runner.report(usage({ total_tokens: 9 }), ['turn_ended', { turn_id: 't1', stop_reason: 'refusal' }]);
    await followUp(200, runId);
  });
});
