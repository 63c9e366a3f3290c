import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SweepExecutions } from '#execution/executions';
import { type RunShape, TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import {
  expectProblem,
  lockOfRun,
  requestAnyStatus,
  sendConcurrently,
  UNKNOWN_RUN_ID,
} from '../../support/api-requests.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  // The runs of the table hold slots, and a follow-up to an idle session needs one.
  await fixture.database.query('UPDATE teams SET max_concurrent_runs = 1000 WHERE uid = $1', [fixture.team]);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

type Shape = Omit<RunShape, 'by'>;

const build = (shape: Shape) => fixture.runs.build({ by: fixture.member, team: fixture.team, ...shape });
const interrupt = (status: number, runId: string, token = fixture.member.token) =>
  fixture.request(status, `POST /agent/runs/${runId}/interrupt`, { token });
const interruptConversation = (status: number, conversationId: string | null, token = fixture.member.token) =>
  fixture.request(status, `POST /agent/conversations/${conversationId}/interrupt`, { token });
const cancel = (status: number, runId: string) =>
  fixture.request(status, `POST /agent/runs/${runId}/cancel`, { token: fixture.member.token });
const get = async (runId: string) =>
  (await fixture.request(200, `GET /agent/runs/${runId}`, { token: fixture.member.token })).body;
const followUp = (runId: string, message = 'Do this instead.') =>
  fixture.request(200, `POST /agent/runs/${runId}/followups`, { token: fixture.member.token, body: { message } });
const approvals = async (runId: string) =>
  (await fixture.request(200, `GET /agent/runs/${runId}/approvals`, { token: fixture.member.token })).body.approvals;

interface Entry {
  event_type: string;
  payload?: Record<string, unknown>;
}
async function timeline(runId: string): Promise<Entry[]> {
  return (await fixture.request(200, `GET /agent/runs/${runId}/timeline`, { token: fixture.member.token })).body.events;
}
/** The entries about interrupts, and those with which a turn ends. */
async function story(runId: string): Promise<string[]> {
  const types = (await timeline(runId)).map(({ event_type: type }) => type);
  return types.filter((type) => /interrupt|^run_(?:done|failed|errored|cancelled)$/.test(type));
}
const by = () => ({ type: 'user', uid: fixture.member.uid });

/** A run whose agent works on its first turn, `t1`. */
async function start(options: object = {}): Promise<{ id: string; runner: TestRunner }> {
  const { body } = await fixture.request(200, 'POST /agent/runs', {
    token: fixture.member.token,
    body: { prompt: 'Go.', ...options },
  });
  const runner = await TestRunner.take(fixture.api, body.run_id);
  await runner.startAgent();
  await runner.report(['turn_started', { turn_id: 't1', prompt: 'Go.' }]);
  return { id: body.run_id, runner };
}
const commands = async (runner: TestRunner, version = 0) =>
  (await runner.call(200, 'GET commands', { version: String(version), wait: '0' })).body;
const interrupted = (turnId = 't1') =>
  ['turn_ended', { turn_id: turnId, stop_reason: 'cancelled', interrupt: 'done' }] as const;
const executionOf = async (runId: string) =>
  (await fixture.database.query('SELECT phase, slot_held, desired FROM executions WHERE run_id = $1', [runId]))[0];

const TABLE: readonly [Shape, status: number][] = [
  [{ state: 'QUEUED' }, 409],
  [{ state: 'QUEUED', session: 'stopping' }, 409],
  [{ state: 'PENDING' }, 409],
  [{ state: 'CLAIMED' }, 409],
  [{ state: 'INPROGRESS' }, 202],
  [{ state: 'BLOCKED' }, 202],
  [{ state: 'BLOCKED', session: 'none' }, 400],
  [{ state: 'SUCCEEDED' }, 400],
  [{ state: 'SUCCEEDED', session: 'idle' }, 400],
  [{ state: 'FAILED' }, 400],
  [{ state: 'ERROR' }, 400],
  [{ state: 'CANCELLED' }, 400],
  [{ state: 'CANCELLED', session: 'stopping' }, 400],
];
const KINDS = ['hosted', 'self_hosted', 'local', 'github_action'] as const;

describe('interruptRun by state and kind of run', () => {
  const cases = TABLE.flatMap(([shape, status]) => KINDS.map((kind) => [{ ...shape, kind }, status] as const));

  it.each(cases)('responds to a run that is %o with %i', async (shape, status) => {
    const { id } = await build(shape);
    const before = await timeline(id);
    const answer = await interrupt(status, id);
    if (status === 202) {
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      expect(answer.text).toBe('{}');
      expect((await get(id)).state).toBe('INPROGRESS');
      return;
    }
    expectProblem(fixture.api, answer, status === 409 ? 'conflict' : 'invalid_request');
    expect(answer.body.retryable).toBe(status === 409);
    expect(answer.headers.has('retry-after')).toBe(status === 409);
    expect(answer.body.detail).toContain(shape.state);
    expect(await timeline(id)).toEqual(before);
  });

  it('returns 409 between two turns, so that it never ends a turn that the caller has not seen', async () => {
    const { id, runner } = await start();
    await followUp(id);
    await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }]);
    expect((await get(id)).state).toBe('INPROGRESS');
    expectProblem(fixture.api, await interrupt(409, id), 'conflict');
    await runner.report(['turn_started', { turn_id: 't2', prompt: 'Do this instead.' }]);
    await interrupt(202, id);
    expect((await commands(runner)).interrupt).toEqual({ turn_id: 't2', timeout_seconds: 30 });
  });
});

describe('an interrupted run', () => {
  it('has an order for its runner that names the open turn, until the turn has ended', async () => {
    const { id, runner } = await start();
    const { version, interrupt: none } = await commands(runner);
    expect(none).toBeUndefined();
    await interrupt(202, id);
    const order = await commands(runner, version);
    expect(order).toMatchObject({ desired: 'run', interrupt: { turn_id: 't1', timeout_seconds: 30 } });
    await runner.report(interrupted());
    expect((await commands(runner)).interrupt).toBeUndefined();
  });

  it('is SUCCEEDED after the turn with an idle session and a free slot, and the timeline says who interrupted it', async () => {
    const { id, runner } = await start();
    await interrupt(202, id);
    expect((await get(id)).state).toBe('INPROGRESS');
    await runner.report(interrupted());
    expect(await get(id)).toMatchObject({
      state: 'SUCCEEDED',
      is_sandbox_running: true,
      status_message: { message: 'The last turn was interrupted.' },
    });
    expect(await executionOf(id)).toEqual({ phase: 'idle', slot_held: false, desired: 'run' });
    expect(await story(id)).toEqual(['interrupt_requested', 'run_interrupted', 'run_done']);
    expect((await timeline(id)).slice(-3).map(({ payload }) => payload)).toEqual([
      { turn_id: 't1', principal: by() },
      { turn_id: 't1', principal: by() },
      { stop_reason: 'cancelled' },
    ]);
  });

  it('continues with a follow-up in the same session, which is not interrupted', async () => {
    const { id, runner } = await start();
    await interrupt(202, id);
    await runner.report(interrupted());
    const { body } = await followUp(id);
    expect(body.outcome).toBe('live_session');
    const { prompts, interrupt: order } = await commands(runner);
    expect(prompts).toEqual([expect.objectContaining({ followup_id: body.followup_id, message: 'Do this instead.' })]);
    expect(order).toBeUndefined();
    await runner.report(
      ['turn_started', { turn_id: 't2', prompt: 'Do this instead.', followup_id: body.followup_id }],
      ['turn_ended', { turn_id: 't2', stop_reason: 'end_turn' }],
    );
    const run = await get(id);
    expect(run.state).toBe('SUCCEEDED');
    expect(run).not.toHaveProperty('status_message');
    expect(await story(id)).toEqual(['interrupt_requested', 'run_interrupted', 'run_done', 'run_done']);
  });

  it('with a waiting follow-up stays INPROGRESS and keeps its slot', async () => {
    const { id, runner } = await start();
    const { body } = await followUp(id);
    await interrupt(202, id);
    await runner.report(interrupted());
    expect((await get(id)).state).toBe('INPROGRESS');
    expect(await executionOf(id)).toEqual({ phase: 'started', slot_held: true, desired: 'run' });
    expect((await commands(runner)).prompts).toMatchObject([{ followup_id: body.followup_id }]);
    expect(await story(id)).toEqual(['interrupt_requested', 'run_interrupted']);
  });

  it('shows the interrupted turn in its conversation as cancelled', async () => {
    const { id, runner } = await start();
    await interrupt(202, id);
    await runner.report(interrupted());
    const { body } = await fixture.request(200, `GET /agent/runs/${id}/conversation`, { token: fixture.member.token });
    const blocks = body.steps.at(-1).messages.flatMap(({ content }: { content: object[] }) => content);
    expect(blocks).toContainEqual({ type: 'event', name: 'turn_ended', data: { stop_reason: 'cancelled' } });
  });

  it('that waits for an answer has its permission request withdrawn, once', async () => {
    const { id, runner } = await start({ interactive: true });
    await runner.report(['permission_requested', { approval_id: 'ask-1', title: 'Deploy', options: [], ask: true }]);
    expect((await get(id)).state).toBe('BLOCKED');
    await interrupt(202, id);
    expect((await get(id)).state).toBe('INPROGRESS');
    expect(await approvals(id)).toMatchObject([{ approval_id: 'ask-1', state: 'denied', decided_via: 'cancel' }]);
    const answer = await fixture.request(409, `POST /agent/runs/${id}/approvals/ask-1`, {
      token: fixture.member.token,
      body: { decision: 'allow' },
    });
    expectProblem(fixture.api, answer, 'conflict');
    expect(await commands(runner)).toMatchObject({
      interrupt: { turn_id: 't1' },
      decisions: [{ approval_id: 'ask-1', decision: 'deny' }],
    });
    await runner.report(interrupted());
    expect((await get(id)).state).toBe('SUCCEEDED');
    const decided = (await timeline(id)).filter(({ event_type: type }) => type === 'permission_decided');
    expect(decided).toMatchObject([{ payload: { approval_id: 'ask-1', decision: 'deny', by: 'cancel' } }]);
  });

  it('whose runner asks once more before it knows of the interrupt is not left BLOCKED', async () => {
    const { id, runner } = await start({ interactive: true });
    await interrupt(202, id);
    await runner.report(['permission_requested', { approval_id: 'late', title: 'Deploy', options: [], ask: true }]);
    await runner.report(['permission_decided', { approval_id: 'late', decision: 'deny', by: 'cancel' }], interrupted());
    expect((await get(id)).state).toBe('SUCCEEDED');
    expect(await approvals(id)).toMatchObject([{ approval_id: 'late', state: 'denied' }]);
  });

  it('is FAILED with the reason when its agent did not answer', async () => {
    const { id, runner } = await start();
    await interrupt(202, id);
    const message = 'The agent did not end its turn within 30 s of an interrupt, and was stopped.';
    const failure = { error_code: 'agent_process_failed', message };
    await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'error', interrupt: 'unanswered', ...failure }]);
    await runner.finish('failed', failure);
    expect(await get(id)).toMatchObject({ state: 'FAILED', is_sandbox_running: false, status_message: failure });
    expect(await story(id)).toEqual(['interrupt_requested', 'interrupt_failed', 'run_failed']);
    expect((await timeline(id)).find(({ event_type: type }) => type === 'interrupt_failed')?.payload).toEqual({
      turn_id: 't1',
      unanswered_by: 'agent',
      message,
    });
  });
});

describe('an interrupt beside something else', () => {
  it('has no effect on a turn that ends by itself at the same moment', async () => {
    const { id, runner } = await start();
    await interrupt(202, id);
    await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }]);
    expect(await story(id)).toEqual(['interrupt_requested', 'run_done']);
    const { body } = await followUp(id);
    await runner.report(['turn_started', { turn_id: 't2', prompt: 'x', followup_id: body.followup_id }]);
    expect((await commands(runner)).interrupt).toBeUndefined();
    // A report about the first turn does not end the second one.
    await runner.report(interrupted('t2'));
    expect((await get(id)).state).toBe('INPROGRESS');
    expect(await story(id)).toEqual(['interrupt_requested', 'run_done']);
  });

  it('either precedes the end of the turn or is rejected, and both leave a run that has ended its turn', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id, runner } = await start();
      const [status] = await sendConcurrently(fixture.api, lockOfRun(id), () => [
        requestAnyStatus(fixture.api, `POST /agent/runs/${id}/interrupt`, { token: fixture.member.token }).then(
          (answer) => answer.status,
        ),
        runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }]).then(() => 200),
      ]);
      expect((await get(id)).state).toBe('SUCCEEDED');
      expect(await story(id)).toEqual(status === 202 ? ['interrupt_requested', 'run_done'] : ['run_done']);
    }
  });

  it('of twenty requests for one turn makes one entry, and all are accepted', async () => {
    const { id, runner } = await start();
    const answers = await sendConcurrently(fixture.api, lockOfRun(id), () =>
      Array.from({ length: 20 }, () =>
        requestAnyStatus(fixture.api, `POST /agent/runs/${id}/interrupt`, { token: fixture.member.token }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(20).fill(202));
    await runner.report(interrupted());
    await interrupt(400, id);
    expect(await story(id)).toEqual(['interrupt_requested', 'run_interrupted', 'run_done']);
    expect(fixture.api.log.errors).toEqual([]);
  });

  it('does not delay a cancellation, which wins', async () => {
    const { id, runner } = await start();
    await interrupt(202, id);
    await cancel(200, id);
    expect((await get(id)).state).toBe('CANCELLED');
    expectProblem(fixture.api, await interrupt(400, id), 'invalid_request');
    expect((await commands(runner)).desired).toBe('stop');
    await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'cancelled' }]);
    await runner.finish('cancelled');
    expect(await get(id)).toMatchObject({ state: 'CANCELLED', is_sandbox_running: false });
    expect(await story(id)).toEqual(['interrupt_requested', 'run_cancelled']);
  });

  it('leaves a cancelled run CANCELLED when the agent had answered the interrupt before', async () => {
    const { id, runner } = await start();
    await interrupt(202, id);
    await cancel(200, id);
    await runner.report(interrupted());
    await runner.finish('cancelled');
    expect(await get(id)).toMatchObject({ state: 'CANCELLED', is_sandbox_running: false });
    expect((await story(id)).filter((type) => type !== 'run_interrupted')).toEqual([
      'interrupt_requested',
      'run_cancelled',
    ]);
  });

  it('is accepted beside a follow-up, which is delivered in either order', async () => {
    const { id, runner } = await start();
    const answers = await sendConcurrently(fixture.api, lockOfRun(id), () => [
      requestAnyStatus(fixture.api, `POST /agent/runs/${id}/interrupt`, { token: fixture.member.token }),
      requestAnyStatus(fixture.api, `POST /agent/runs/${id}/followups`, {
        token: fixture.member.token,
        body: { message: 'Next.' },
      }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([202, 200]);
    await runner.report(interrupted());
    expect((await get(id)).state).toBe('INPROGRESS');
    expect((await commands(runner)).prompts).toMatchObject([{ message: 'Next.' }]);
  });

  it('is not claimed by a runner that ends its turn as interrupted without a request', async () => {
    const { id, runner } = await start();
    await runner.report(interrupted());
    expect((await get(id)).state).toBe('INPROGRESS');
    expect(await story(id)).toEqual([]);
  });
});

describe('a runner that does not support interrupts', () => {
  it('continues its turn; after INTERRUPT_TIMEOUT and a minute the timeline says so, and another request may follow', async () => {
    const { id, runner } = await start();
    const sweep = fixture.api.app.get(SweepExecutions, { strict: false });
    await interrupt(202, id);
    await fixture.api.advanceClock(89_000);
    await runner.report(['message_chunk', { text: 'Still here.' }]);
    await sweep.execute();
    expect(await story(id)).toEqual(['interrupt_requested']);
    await fixture.api.advanceClock(2_000);
    await runner.report(['message_chunk', { text: 'Still here.' }]);
    await Promise.all([sweep.execute(), sweep.execute()]);
    expect(await story(id)).toEqual(['interrupt_requested', 'interrupt_failed']);
    expect((await timeline(id)).at(-1)?.payload).toMatchObject({ turn_id: 't1', unanswered_by: 'runner' });
    expect((await commands(runner)).interrupt).toBeUndefined();
    expect((await get(id)).state).toBe('INPROGRESS');
    await interrupt(202, id);
    expect((await commands(runner)).interrupt).toMatchObject({ turn_id: 't1' });
    await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }]);
    expect(await get(id)).toMatchObject({ state: 'SUCCEEDED', is_sandbox_running: true });
  });
});

describe('interruptConversation', () => {
  it('interrupts the newest run of the conversation and returns its id', async () => {
    const older = await build({ state: 'SUCCEEDED', createdAt: new Date(Date.now() - 3_600_000) });
    const { conversationId } = older;
    const newer = await build({ state: 'INPROGRESS', ...(conversationId === null ? {} : { conversationId }) });
    const { body } = await interruptConversation(202, conversationId);
    expect(body).toEqual({ run_id: newer.id });
    expect(await story(newer.id)).toContain('interrupt_requested');
    expect(await story(older.id)).toEqual(['run_done']);
  });

  it('does not choose an older run that is still in progress', async () => {
    const older = await build({ state: 'INPROGRESS', createdAt: new Date(Date.now() - 3_600_000) });
    const { conversationId } = older;
    await build({ state: 'SUCCEEDED', ...(conversationId === null ? {} : { conversationId }) });
    expectProblem(fixture.api, await interruptConversation(400, conversationId), 'invalid_request');
    const waiting = await fixture.runs.build({
      by: fixture.member,
      team: fixture.team,
      state: 'QUEUED',
      conversation: true,
    });
    expectProblem(fixture.api, await interruptConversation(409, waiting.conversationId), 'conflict');
    expect(await story(older.id)).toEqual([]);
  });

  it('rejects a viewer and another team with 403, and an unknown conversation with 404', async () => {
    const { conversationId } = await build({ state: 'INPROGRESS' });
    for (const { token } of [fixture.viewer, fixture.stranger])
      expectProblem(fixture.api, await interruptConversation(403, conversationId, token), 'not_authorized');
    expectProblem(fixture.api, await interruptConversation(404, UNKNOWN_RUN_ID), 'resource_not_found');
  });
});

describe('authorization to interrupt', () => {
  it('rejects a viewer, another team, and a colleague of the owner with 403 without a change', async () => {
    const { id } = await build({ state: 'INPROGRESS' });
    for (const { token } of [fixture.viewer, fixture.stranger])
      expectProblem(fixture.api, await interrupt(403, id, token), 'not_authorized');
    expect(await story(id)).toEqual([]);
    const { id: personal } = await fixture.runs.build({ by: fixture.member, state: 'INPROGRESS' });
    const owner = await fixture.api.identities.user({ [fixture.team]: 'owner' });
    expectProblem(fixture.api, await interrupt(403, personal, owner.token), 'not_authorized');
    await interrupt(202, personal);
  });

  it('rejects unknown and malformed ids with 404, and a blank one with 400', async () => {
    for (const id of [UNKNOWN_RUN_ID, 'nonsense', '%00'])
      expectProblem(fixture.api, await interrupt(404, id), 'resource_not_found');
    expectProblem(fixture.api, await interrupt(400, '%20'), 'invalid_request');
  });
});
