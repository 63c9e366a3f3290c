import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '#platform/persistence';
import type { Commands } from '#execution/runner-protocol';
import { SweepExecutions } from '#execution/executions';
import { type TestPrincipal, TestRunner } from '#testing';
import { PlacementStore } from '../../../libs/execution/executions/src/persistence/placement.store.js';
import { LiveClient } from './live-client.js';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, lockOfRun, requestAnyStatus, sendConcurrently } from '../../support/api-requests.js';

const MINUTE = 60_000;
const RETENTION = 5;
const MESSAGE = 'Set-up command 2 (`make deps`) failed with exit code 7.\nno rule to make deps';
const STATUS = { message: MESSAGE, error_code: 'environment_setup_failed', retryable: false };

let fixture: ApiFixture;
let environmentUid: string;
let admin: TestPrincipal;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { maxIdleSessions: 3, maxConcurrentRunsPerTeam: 1000 } });
  admin = await fixture.api.identities.user({ [fixture.team]: 'admin' });
  environmentUid = await environmentWith(RETENTION);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

async function environmentWith(minutes: number | null): Promise<string> {
  const { body } = await fixture.request(201, 'POST /environments', {
    token: admin.token,
    body: { config: { setup_commands: ['true', 'make deps'], failure_session_retention_minutes: minutes } },
  });
  return body.uid as string;
}

const get = async (runId: string) =>
  (await fixture.request(200, `GET /agent/runs/${runId}`, { token: fixture.member.token })).body;
const followUp = (status: number, runId: string, message = 'What is wrong?') =>
  fixture.request(status, `POST /agent/runs/${runId}/followups`, { token: fixture.member.token, body: { message } });
const timeline = async (runId: string) =>
  (await fixture.request(200, `GET /agent/runs/${runId}/timeline`, { token: fixture.member.token })).body.events as {
    event_type: string;
    payload?: Record<string, unknown>;
  }[];
const sweep = () => fixture.api.app.get(SweepExecutions).execute();
const now = async (): Promise<number> =>
  (await fixture.database.query<{ ms: string }>('SELECT extract(epoch FROM headrace.now()) * 1000 AS ms')).map(
    ({ ms }) => Number(ms),
  )[0] ?? 0;
const pendingOf = async (runId: string): Promise<string[]> =>
  (
    await fixture.database.query<{ message: string }>(
      'SELECT message FROM run_followups WHERE run_id = $1 AND consumed_at IS NULL ORDER BY position',
      [runId],
    )
  ).map(({ message }) => message);
const slotHeld = async (runId: string): Promise<boolean> =>
  (
    await fixture.database.query('SELECT 1 FROM executions WHERE run_id = $1 AND ended_at IS NULL AND slot_held', [
      runId,
    ])
  ).length > 0;

/** A run that this runner has claimed. */
async function claimed(fields: object = {}, environment = environmentUid): Promise<[string, TestRunner]> {
  const { body } = await fixture.request(200, 'POST /agent/runs', {
    token: fixture.member.token,
    body: { prompt: 'Build it.', config: { environment_id: environment, base_prompt: 'Be kind.' }, ...fields },
  });
  const runId = body.run_id as string;
  return [runId, await TestRunner.take(fixture.api, runId)];
}

const failSetup = (runner: TestRunner) =>
  runner.report(
    ['sandbox_ready'],
    ['setup_started', { commands: 2 }],
    ['setup_command_finished', { index: 1, command: 'make deps', exit_code: 7, duration_ms: 3, output: 'no rule' }],
    ['setup_failed', { message: MESSAGE, exit_code: 7 }],
  );

/** A run in its debug window. */
async function debugged(fields: object = {}): Promise<[string, TestRunner]> {
  const [runId, runner] = await claimed(fields);
  await failSetup(runner);
  return [runId, runner];
}

const commandsOf = async (runner: TestRunner): Promise<Commands> =>
  (await runner.call(200, 'GET commands', { version: '0', wait: '0' })).body as Commands;

/** The debug agent takes the message and works on it. */
async function beginTurn(runner: TestRunner, turnId: string, isFirst = true): Promise<string> {
  const { prompts } = await commandsOf(runner);
  const prompt = prompts[0];
  if (!prompt) throw new Error('No message waits for the debug agent.');
  if (isFirst)
    await runner.report(['session_started', { session_id: `debug-${turnId}`, resumed: false }], ['agent_started', {}]);
  await runner.report(
    ['turn_started', { turn_id: turnId, prompt: prompt.message, followup_id: prompt.followup_id }],
    ['message_chunk', { message_id: 'm', text: 'The Makefile has no such rule.' }],
  );
  return prompt.message;
}
const endTurn = (runner: TestRunner, turnId: string, end: object = { stop_reason: 'end_turn' }) =>
  runner.report(['turn_ended', { turn_id: turnId, ...end }]);

/** Moves the clock; the runner is still there afterwards. */
async function advance(minutes: number, ...runners: TestRunner[]): Promise<void> {
  await fixture.api.advanceClock(minutes * MINUTE);
  for (const runner of runners)
    await fixture.request(200, `POST /runner/v1/executions/${runner.assignment.execution_id}/beat`, {
      token: runner.token,
      body: { lease_epoch: runner.assignment.lease_epoch },
    });
}

const expectUnmoved = (run: object): void => {
  expect(run).toMatchObject({ state: 'FAILED', status_message: STATUS, started_at: null });
};

describe('a set-up that fails in an environment with a debug window', () => {
  it('fails the run at once and keeps the session open without a slot', async () => {
    const [runId, runner] = await claimed();
    expect(runner.assignment.failure_session_retention_minutes).toBe(RETENTION);
    expect(await slotHeld(runId)).toBe(true);
    const before = await now();
    await failSetup(runner);
    const run = await get(runId);
    expectUnmoved(run);
    expect(run).toMatchObject({
      status_message: { debug_agent_active: false },
      debug_agent_available: true,
      is_sandbox_running: true,
    });
    expect(run).not.toHaveProperty('conversation_id');
    const until = Date.parse(run.status_message.session_debug_until as string);
    expect(until).toBeGreaterThanOrEqual(Math.floor(before) + RETENTION * MINUTE);
    expect(until).toBeLessThanOrEqual((await now()) + RETENTION * MINUTE);
    expect(await slotHeld(runId)).toBe(false);
    const reported = await timeline(runId);
    expect(reported.map((event) => event.event_type)).toEqual([
      'run_created',
      'run_claimed',
      'sandbox_ready',
      'setup_started',
      'setup_command_finished',
      'run_failed',
    ]);
    expect(reported.at(-1)?.payload).toEqual(STATUS);
    const { body } = await fixture.request(200, 'GET /agent/runs?limit=1', { token: fixture.member.token });
    expect(body.runs[0]).toMatchObject({
      run_id: runId,
      status_message: run.status_message,
      debug_agent_available: true,
    });
    const { body: environments } = await fixture.request(200, 'GET /agent/environments', {
      token: fixture.member.token,
    });
    expect(environments.environments).toContainEqual(
      expect.objectContaining({ uid: environmentUid, setup_failed: true }),
    );
  });

  it('keeps no session when the environment has no debug window', async () => {
    const [runId, runner] = await claimed({}, await environmentWith(null));
    expect(runner.assignment).not.toHaveProperty('failure_session_retention_minutes');
    await runner.finish('failed', { error_code: 'environment_setup_failed', message: MESSAGE });
    const run = await get(runId);
    expectUnmoved(run);
    expect(run).toMatchObject({ debug_agent_available: false, is_sandbox_running: false });
    expect(run.status_message).not.toHaveProperty('session_debug_until');
    expect((await followUp(400, runId)).body.detail).toContain('no conversation to continue from');
  });

  it('asks a runner to close that keeps a session without a debug window', async () => {
    const [runId, runner] = await claimed({}, await environmentWith(null));
    await failSetup(runner);
    const run = await get(runId);
    expectUnmoved(run);
    expect(run.debug_agent_available).toBe(false);
    await followUp(400, runId);
    await sweep();
    expect(await commandsOf(runner)).toMatchObject({ desired: 'close', desired_reason: 'debug_window_closed' });
    await runner.finish();
    expectUnmoved(await get(runId));
  });

  it('changes nothing when it is reported twice', async () => {
    const [runId, runner] = await debugged();
    const before = await get(runId);
    const events = [{ source_seq: 4, kind: 'setup_failed', data: { message: 'other' } }];
    await runner.call(200, 'POST events', {}, { lease_epoch: runner.assignment.lease_epoch, events });
    expect(await get(runId)).toEqual(before);
  });

  it('opens no window for a run that was cancelled meanwhile', async () => {
    const [runId, runner] = await claimed();
    await fixture.request(200, `POST /agent/runs/${runId}/cancel`, { token: fixture.member.token });
    expect(await failSetup(runner)).toMatchObject({ desired: 'stop' });
    expect(await get(runId)).toMatchObject({ state: 'CANCELLED', debug_agent_available: false });
    await runner.finish('cancelled');
    expect((await timeline(runId)).map((event) => event.event_type)).not.toContain('run_failed');
  });

  it('rejects a cancellation of the failed run', async () => {
    const [runId] = await debugged();
    const answer = await fixture.request(400, `POST /agent/runs/${runId}/cancel`, { token: fixture.member.token });
    expectProblem(fixture.api, answer, 'invalid_request');
    expect(await get(runId)).toMatchObject({ debug_agent_available: true });
  });
});

describe('a follow-up within the window', () => {
  it('is sent to the debug agent for each turn, and the run does not change', async () => {
    const [runId, runner] = await debugged();
    const opened = await get(runId);
    await advance(3, runner);
    expect((await followUp(200, runId, 'Why?')).body.outcome).toBe('live_session');
    const asked = await get(runId);
    expectUnmoved(asked);
    expect(asked.status_message.debug_agent_active).toBe(true);
    const moved =
      Date.parse(asked.status_message.session_debug_until) - Date.parse(opened.status_message.session_debug_until);
    expect(moved).toBeGreaterThanOrEqual(3 * MINUTE);
    expect(Date.parse(asked.updated_at)).toBeGreaterThan(Date.parse(opened.updated_at));
    expect(await commandsOf(runner)).toMatchObject({ desired: 'run', prompts: [{ message: 'Why?', debug: true }] });
    expect(await slotHeld(runId)).toBe(true);

    expect(await beginTurn(runner, 't1')).toBe('Why?');
    const working = await get(runId);
    expectUnmoved(working);
    expect(working).toMatchObject({
      status_message: { debug_agent_active: true },
      conversation_id: expect.any(String),
    });
    expect((await followUp(200, runId, 'And then?')).body.outcome).toBe('live_session');
    await endTurn(runner, 't1');
    expect(await slotHeld(runId)).toBe(true);
    expect(await beginTurn(runner, 't2', false)).toBe('And then?');
    await advance(2, runner);
    await runner.report(['usage', { total_tokens: 12 }]);
    await endTurn(runner, 't2');
    const answered = await get(runId);
    expectUnmoved(answered);
    expect(answered).toMatchObject({
      status_message: { debug_agent_active: false },
      debug_agent_available: true,
      request_usage: { total_tokens: 12 },
    });
    expect(Date.parse(answered.status_message.session_debug_until)).toBeGreaterThan(
      (await now()) + (RETENTION - 1) * MINUTE,
    );
    expect(await slotHeld(runId)).toBe(false);

    const { body } = await fixture.request(200, `GET /agent/runs/${runId}/conversation`, {
      token: fixture.member.token,
    });
    const said = JSON.stringify(body.steps);
    expect(said).toContain('And then?');
    expect(said).toContain('The Makefile has no such rule.');
    const reported = (await timeline(runId)).map((event) => event.event_type);
    expect(reported.filter((type) => type === 'run_failed')).toHaveLength(1);
    expect(reported).not.toContain('run_done');
    expect(reported.slice(6)).toEqual(['followup_received', 'session_started', 'agent_started', 'followup_received']);
    expect(fixture.api.log.errors).toEqual([]);
  });

  it('without a message is rejected with 400', async () => {
    const [runId] = await debugged();
    const answer = await followUp(400, runId, ' ');
    expect(answer.body.errors).toEqual([
      { pointer: '/message', detail: 'must not be empty unless the run continues from its saved conversation' },
    ]);
    expectUnmoved(await get(runId));
  });

  it('is not mixed with earlier messages of the run', async () => {
    const [runId, runner] = await claimed();
    expect((await followUp(200, runId, 'Also build the docs.')).body.outcome).toBe('queue_pending');
    expect((await commandsOf(runner)).prompts).toMatchObject([{ message: 'Also build the docs.' }]);
    await failSetup(runner);
    expect((await commandsOf(runner)).prompts).toEqual([]);
    expect(await get(runId)).toMatchObject({ status_message: { debug_agent_active: false } });
    await followUp(200, runId, 'Why?');
    expect((await commandsOf(runner)).prompts).toMatchObject([{ message: 'Why?', debug: true }]);
    expect(await pendingOf(runId)).toEqual(['Also build the docs.', 'Why?']);
  });

  it('can cause a permission request of the agent, which does not block the run', async () => {
    const [runId, runner] = await debugged({ interactive: true });
    await followUp(200, runId);
    await beginTurn(runner, 't1');
    const ask = (approvalId: string) =>
      runner.report(['permission_requested', { approval_id: approvalId, title: 'Run make', options: [], ask: true }]);
    await ask('a1');
    expectUnmoved(await get(runId));
    const path = `/agent/runs/${runId}/approvals`;
    const { body } = await fixture.request(200, `GET ${path}`, { token: fixture.member.token });
    expect(body.approvals).toMatchObject([{ approval_id: 'a1', state: 'pending' }]);
    await fixture.request(200, `POST ${path}/a1`, { token: fixture.member.token, body: { decision: 'allow' } });
    expect((await commandsOf(runner)).decisions).toEqual([{ approval_id: 'a1', decision: 'allow' }]);
    await ask('a2');
    await runner.report(['permission_decided', { approval_id: 'a2', decision: 'deny', by: 'cancel' }]);
    await endTurn(runner, 't1');
    const run = await get(runId);
    expectUnmoved(run);
    expect(run.debug_agent_available).toBe(true);
    expect((await timeline(runId)).map((event) => event.event_type)).not.toContain('run_blocked');
    await fixture.request(409, `POST ${path}/a2`, { token: fixture.member.token, body: { decision: 'allow' } });
  });

  it('does not change the run when the agent refuses or the turn fails', async () => {
    const [runId, runner] = await debugged();
    await followUp(200, runId);
    await beginTurn(runner, 't1');
    await endTurn(runner, 't1', { stop_reason: 'refusal' });
    expectUnmoved(await get(runId));
    await followUp(200, runId);
    await beginTurn(runner, 't2', false);
    await endTurn(runner, 't2', { stop_reason: 'error', message: 'it died' });
    const run = await get(runId);
    expectUnmoved(run);
    expect(run.debug_agent_available).toBe(true);
  });

  it('is visible in the live stream, with the window and the agent', async () => {
    const [runId, runner] = await debugged();
    const client = await LiveClient.watch(fixture.api, runId, { token: fixture.member.token });
    const sawActive = (active: boolean, count: number) => (seen: LiveClient) =>
      seen.of('state').filter(({ data }) => data.status_message.debug_agent_active === active).length >= count;
    await client.until(sawActive(false, 1));
    await followUp(200, runId);
    await client.until(sawActive(true, 1));
    await beginTurn(runner, 't1');
    await endTurn(runner, 't1');
    await client.until(sawActive(false, 2));
    expect(client.isClosed).toBe(false);
    await runner.finish();
    await client.until((seen) => seen.of('end').length > 0);
    expect(client.of('state').at(-1)?.data.status_message).toEqual(STATUS);
    expect(client.of('state').every(({ data }) => data.state === 'FAILED')).toBe(true);
    expect(JSON.stringify(client.of('conversation'))).toContain('The Makefile has no such rule.');
    await client.closed;
  });

  it('needs a slot, and gets the next free one before queued runs', async () => {
    const [runId, runner] = await debugged();
    const setFree = (free: number) =>
      fixture.database.query(`UPDATE slot_pools SET capacity = used + $1 WHERE key = 'pool:hosted'`, [free]);
    await setFree(0);
    await followUp(200, runId);
    await runner.call(204, 'GET commands', { version: '0', wait: '0' });
    const { body: queued } = await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'later' },
    });
    await setFree(1);
    const placement = fixture.api.app.get(PlacementStore);
    expect(await placement.placeHosted('test')).toEqual([]);
    expect(await slotHeld(runId)).toBe(true);
    expect((await commandsOf(runner)).prompts).toHaveLength(1);
    await setFree(1);
    expect((await placement.placeHosted('test')).map((offer) => offer.runId)).toEqual([queued.run_id]);
  });
});

describe('the debug window closes', () => {
  it('by the clock of the server, after which a run without a conversation cannot continue', async () => {
    const [runId, runner] = await debugged();
    await advance(RETENTION - 1, runner);
    await sweep();
    expect(await commandsOf(runner)).toMatchObject({ desired: 'run' });
    await advance(1.01, runner);
    // Even before anybody has looked.
    const late = await get(runId);
    expectUnmoved(late);
    expect(late.status_message).toEqual(STATUS);
    expect(late.debug_agent_available).toBe(false);
    expectProblem(fixture.api, await followUp(400, runId), 'invalid_request');
    await sweep();
    expect(await commandsOf(runner)).toMatchObject({ desired: 'close', desired_reason: 'debug_window_closed' });
    await followUp(400, runId);
    await runner.finish();
    const run = await get(runId);
    expectUnmoved(run);
    expect(run.is_sandbox_running).toBe(false);
    expect((await timeline(runId)).at(-1)).toMatchObject({ event_type: 'sandbox_shutdown' });
  });

  it('after which a run with a conversation continues in a new execution, with its own prompt first', async () => {
    const [runId, runner] = await debugged();
    await followUp(200, runId, 'Why?');
    await beginTurn(runner, 't1');
    await endTurn(runner, 't1');
    await advance(RETENTION + 0.01, runner);
    await sweep();
    // The old session is still being closed.
    expect((await followUp(200, runId, 'I have fixed it.')).body.outcome).toBe('handoff_execution');
    expect(await get(runId)).toMatchObject({ state: 'QUEUED', debug_agent_available: false });
    await runner.finish();
    const next = await TestRunner.take(fixture.api, runId);
    expect(next.assignment).toMatchObject({
      prompt: 'Build it.',
      base_prompt: 'Be kind.',
      resume: { session_id: 'debug-t1', transcript: false, debug: true },
    });
    expect((await commandsOf(next)).prompts).toEqual([
      { followup_id: expect.any(String), message: 'I have fixed it.' },
    ]);
    await next.report(['session_started', { session_id: 'debug-t1', resumed: true }], ['agent_started', {}]);
    await next.report(['turn_started', { turn_id: 't2', prompt: 'Build it.' }]);
    const run = await get(runId);
    expect(run).toMatchObject({ state: 'INPROGRESS', started_at: expect.any(String) });
    expect(run).not.toHaveProperty('status_message');
    const [row] = await fixture.database.query('SELECT prompt_taken FROM runs WHERE id = $1', [runId]);
    expect(row).toEqual({ prompt_taken: true });
  });

  it('only when the agent is idle and no message is pending, and stops work that exceeds its limit', async () => {
    const [runId, runner] = await debugged();
    await followUp(200, runId);
    await advance(RETENTION + 1, runner);
    await sweep();
    expect(await commandsOf(runner)).toMatchObject({ desired: 'run', prompts: [{ debug: true }] });
    const waiting = await get(runId);
    expect(Date.parse(waiting.status_message.session_debug_until)).toBeGreaterThan(await now());
    await beginTurn(runner, 't1');
    for (const minutes of [RETENTION + 1, 40]) {
      await advance(minutes, runner);
      expect(await get(runId)).toMatchObject({ debug_agent_available: true });
      await sweep();
      expect(await commandsOf(runner)).toMatchObject({ desired: 'run' });
      expect(Date.parse((await get(runId)).status_message.session_debug_until)).toBeGreaterThan(await now());
    }
    await advance(20, runner);
    await sweep();
    expect(await commandsOf(runner)).toMatchObject({ desired: 'stop', desired_reason: 'debug_turn_too_long' });
    expect(await get(runId)).toMatchObject({ debug_agent_available: false });
    await endTurn(runner, 't1', { stop_reason: 'cancelled' });
    await runner.finish('cancelled');
    expectUnmoved(await get(runId));
    expect(await slotHeld(runId)).toBe(false);
  });

  it('when the process of the agent ends, with the reason in the timeline', async () => {
    const [runId, runner] = await debugged();
    await followUp(200, runId);
    await beginTurn(runner, 't1');
    await endTurn(runner, 't1', { stop_reason: 'error', message: 'it died' });
    await runner.finish('failed', { error_code: 'agent_process_failed', message: 'it died' });
    const run = await get(runId);
    expectUnmoved(run);
    expect(run.is_sandbox_running).toBe(false);
    expect((await timeline(runId)).at(-1)).toMatchObject({
      event_type: 'sandbox_shutdown',
      payload: { reason: 'agent_process_failed', message: 'it died' },
    });
    expect((await followUp(200, runId)).body.outcome).toBe('handoff_execution');
  });

  it('for the oldest session beyond the limit of idle sessions, unless it has a message', async () => {
    await fixture.database.query(
      `UPDATE executions SET desired = 'close' WHERE ended_at IS NULL AND phase IN ('debug', 'idle')`,
    );
    const runs: [string, TestRunner][] = [];
    for (let index = 0; index < 3; index += 1) runs.push(await debugged());
    const [oldest, second, third] = runs.map(([runId]) => runId) as [string, string, string];
    await followUp(200, oldest);
    const [newest] = await debugged();
    await debugged();
    const available = async (runId: string) => (await get(runId)).debug_agent_available as boolean;
    expect(await Promise.all([oldest, second, third, newest].map(available))).toEqual([true, false, true, true]);
    const [, runner] = runs[1] ?? [];
    expect(runner && (await commandsOf(runner))).toMatchObject({
      desired: 'close',
      desired_reason: 'max_idle_sessions',
    });
  });

  it('on the next sweep when its row was locked during the first', async () => {
    await fixture.database.query(
      `UPDATE executions SET desired = 'close' WHERE ended_at IS NULL AND phase IN ('debug', 'idle')`,
    );
    const runs: string[] = [];
    for (let index = 0; index < 3; index += 1) runs.push((await debugged())[0]);
    const [oldest = ''] = runs;
    const wishOf = async () =>
      (
        await fixture.database.query<{ desired: string }>(
          'SELECT desired FROM executions WHERE run_id = $1 AND ended_at IS NULL',
          [oldest],
        )
      )[0]?.desired;
    await fixture.api.app.get(Database).transaction(async (tx) => {
      await tx.query('SELECT FROM executions WHERE run_id = $1 FOR UPDATE', [oldest]);
      await debugged();
      expect(await wishOf()).toBe('run');
    });
    await sweep();
    expect(await wishOf()).toBe('close');
  });
});

describe('messages within a debug window are not lost', () => {
  it('when the runner dies before it received the message: the next debug agent receives it', async () => {
    const [runId, runner] = await debugged();
    await followUp(200, runId, 'Why?');
    await fixture.api.advanceClock(4 * MINUTE);
    expect(await sweep()).toBeGreaterThan(0);
    expect(await get(runId)).toMatchObject({ state: 'QUEUED', is_sandbox_running: false });
    await runner.call(412, 'GET commands', { version: '0', wait: '0' });
    const second = await TestRunner.take(fixture.api, runId);
    expect((await commandsOf(second)).prompts).toMatchObject([{ message: 'Why?' }]);
    const { version } = await commandsOf(second);
    await failSetup(second);
    const again = await get(runId);
    expectUnmoved(again);
    expect(again.status_message.debug_agent_active).toBe(true);
    const { body } = await second.call(200, 'GET commands', { version: String(version), wait: '0' });
    expect(body.prompts).toMatchObject([{ message: 'Why?', debug: true }]);
    // Lost once more: the run rests, and the message waits for anybody who continues it.
    await second.finish('closed');
    expectUnmoved(await get(runId));
    expect(await pendingOf(runId)).toEqual(['Why?']);
    await followUp(400, runId, 'Hello?');
  });

  it('when the runner dies after it received the message: the run is not started again', async () => {
    const [runId, runner] = await debugged();
    await followUp(200, runId);
    await beginTurn(runner, 't1');
    await fixture.api.advanceClock(4 * MINUTE);
    await sweep();
    const run = await get(runId);
    expectUnmoved(run);
    expect(run).toMatchObject({ is_sandbox_running: false, debug_agent_available: false });
    expect(await slotHeld(runId)).toBe(false);
    expect((await followUp(200, runId)).body.outcome).toBe('handoff_execution');
  });

  it('when the window closes at the same time: the message is delivered or rejected', async () => {
    const [runId, runner] = await debugged();
    const outcomes = new Set<number>();
    for (let round = 0; round < 24 && !(outcomes.size === 2 && round >= 8); round += 1) {
      await fixture.database.query(
        `UPDATE executions SET desired = 'run', fence_at = NULL, debug_until = headrace.now() + $2 * interval '1 millisecond'
          WHERE id = $1`,
        [runner.assignment.execution_id, round ** 2],
      );
      const before = (await pendingOf(runId)).length;
      const [answer] = await Promise.all([
        requestAnyStatus(fixture.api, `POST /agent/runs/${runId}/followups`, {
          token: fixture.member.token,
          body: { message: `m${round}` },
        }),
        ...Array.from({ length: 4 }, () => sweep()),
      ]);
      outcomes.add(answer.status);
      const waiting = await pendingOf(runId);
      const { desired } = await commandsOf(runner);
      if (answer.status === 200) {
        expect([answer.body.outcome, desired, waiting.length]).toEqual(['live_session', 'run', before + 1]);
        await fixture.database.query('UPDATE run_followups SET consumed_at = headrace.now() WHERE run_id = $1', [
          runId,
        ]);
      } else {
        expect([answer.status, waiting.length]).toEqual([400, before]);
      }
    }
    expect([...outcomes].sort()).toEqual([200, 400]);
    expectUnmoved(await get(runId));
  });

  it('when many are sent at once: all reach the session', async () => {
    const [runId, runner] = await debugged();
    const answers = await sendConcurrently(fixture.api, lockOfRun(runId), () =>
      Array.from({ length: 10 }, (_, index) =>
        requestAnyStatus(fixture.api, `POST /agent/runs/${runId}/followups`, {
          token: fixture.member.token,
          body: { message: `m${index}` },
        }),
      ),
    );
    expect(answers.map(({ body }) => body.outcome as string)).toEqual(Array<string>(10).fill('live_session'));
    expect((await commandsOf(runner)).prompts).toHaveLength(10);
    expectUnmoved(await get(runId));
  });
});
