import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_FRAME_BYTES } from '#execution/worker-protocol';
import { ApiFixture } from '../../support/api-fixture.js';
import { ConnectedWorkers } from './connected-workers.js';

let fixture: ApiFixture;
let workers: ConnectedWorkers;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  workers = await ConnectedWorkers.start(fixture);
});
afterAll(() => workers.close());

describe('an offer', () => {
  it('is sent to the worker with the name, and its claim sets the run to CLAIMED', async () => {
    const [host, otherHost] = [workers.newHost(), workers.newHost()];
    const worker = await workers.connect(host);
    const other = await workers.connect(otherHost);
    const runId = await workers.createRun(host);
    const { data } = await worker.next('task_assignment');
    expect(data).toMatchObject({
      task_id: runId,
      execution_id: expect.stringMatching(/^\d+$/),
      task: {
        id: runId,
        title: 'Fix the failing test.',
        task_definition: { prompt: 'Fix the failing test.' },
        agent_config_snapshot: { worker_host: host },
      },
      env_vars: { HEADRACE_EXECUTION_ID: data.execution_id, HEADRACE_EXECUTION_TOKEN: expect.stringMatching(/^hrx_/) },
    });
    expect(await workers.getRun(runId)).toMatchObject({ state: 'PENDING', is_run_type_cancellable: false });
    worker.claim(runId);
    await worker.handled();
    expect(await workers.getRun(runId)).toMatchObject({ state: 'CLAIMED', is_sandbox_running: true });
    await other.handled();
    expect(other.kept).toEqual([]);
  });

  it('waits for a worker that is not connected yet', async () => {
    const host = workers.newHost();
    const runId = await workers.createRun(host);
    expect((await workers.getRun(runId)).state).toBe('QUEUED');
    const worker = await workers.connect(host);
    expect((await worker.next('task_assignment')).data.task_id).toBe(runId);
  });

  it('is not sent to a worker of another team with the same name', async () => {
    const host = workers.newHost();
    const team = await fixture.api.identities.team();
    const stranger = await workers.connect(host, (await fixture.api.identities.serviceAccount(team)).token);
    const runId = await workers.createRun(host);
    await stranger.handled();
    expect(stranger.kept).toEqual([]);
    expect((await workers.getRun(runId)).state).toBe('QUEUED');
    stranger.complete(runId);
    await stranger.handled();
    expect((await workers.getRun(runId)).state).toBe('QUEUED');
  });

  it('is sent to the connection with the fewest runs', async () => {
    const host = workers.newHost();
    const connections = [await workers.connect(host), await workers.connect(host), await workers.connect(host)];
    // A connection is open before it is registered.
    await Promise.all(connections.map((worker) => worker.handled()));
    const runs = [await workers.createRun(host), await workers.createRun(host), await workers.createRun(host)];
    const offers = await Promise.all(connections.map((worker) => worker.next('task_assignment')));
    expect(offers.map(({ data }) => data.task_id).sort()).toEqual([...runs].sort());
  });

  it('shortens a prompt that does not fit into a frame', async () => {
    const host = workers.newHost();
    const worker = await workers.connect(host);
    // A quarter of a mebibyte that JSON makes six times as long.
    const prompt = `Look at this: ${'\u0001'.repeat(250_000)}`;
    const runId = await workers.createRun(host, {}, prompt);
    const frame = await worker.next('task_assignment');
    expect(Buffer.byteLength(JSON.stringify(frame))).toBeLessThanOrEqual(MAX_FRAME_BYTES);
    expect(frame.data.task.task_definition.prompt).toMatch(/^Look at this: /);
    const runner = await workers.startRunner(frame);
    expect(runner.assignment).toMatchObject({ run_id: runId, prompt });
  });

  it('that was rejected is sent to another connection and does not count', async () => {
    const host = workers.newHost();
    const full = await workers.connect(host);
    const runId = await workers.createRun(host);
    await full.next('task_assignment');
    const free = await workers.connect(host);
    full.say({ type: 'task_rejected', data: { task_id: runId, reason: 'at capacity' } });
    expect((await free.next('task_assignment')).data.task_id).toBe(runId);
    expect(await fixture.database.query('SELECT offers FROM runs WHERE id = $1', [runId])).toEqual([{ offers: 1 }]);
    // Said once more, and late: the run is at another connection by now.
    full.say({ type: 'task_rejected', data: { task_id: runId, reason: 'at capacity' } });
    await full.handled();
    expect((await workers.getRun(runId)).state).toBe('PENDING');
  });

  it('is sent again after a pause to a worker that rejected it', async () => {
    const host = workers.newHost();
    const worker = await workers.connect(host);
    const runId = await workers.createRun(host);
    const first = await worker.next('task_assignment');
    worker.say({ type: 'task_rejected', data: { task_id: runId, reason: 'at capacity' } });
    await worker.handled();
    expect((await workers.getRun(runId)).state).toBe('QUEUED');
    // The pause is over in the application's time by itself; in the database's it is made to be.
    await fixture.api.advanceClock(1100);
    const second = await worker.next('task_assignment');
    expect(second.data.task_id).toBe(runId);
    expect(Number(second.data.execution_id)).toBeGreaterThan(Number(first.data.execution_id));
  });

  it('that is not claimed in time returns to the queue, five times, and the worker is informed', async () => {
    const host = workers.newHost();
    const worker = await workers.connect(host);
    const runId = await workers.createRun(host);
    for (let offer = 1; offer <= 5; offer += 1) {
      expect((await worker.next('task_assignment')).data.task_id).toBe(runId);
      await fixture.api.advanceClock(fixture.api.settings.claimDeadline);
      await workers.sweep();
      expect((await worker.next('task_cancellation')).data.task_id).toBe(runId);
      await worker.handled();
    }
    expect(await workers.getRun(runId)).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'resource_unavailable', retryable: true },
    });
    worker.claim(runId);
    worker.complete(runId);
    await worker.handled();
    expect((await workers.getRun(runId)).state).toBe('ERROR');
  });
});

describe('a runner of a worker', () => {
  it('claims the task of the worker, and the worker’s result ends only the execution', async () => {
    const host = workers.newHost();
    const worker = await workers.connect(host);
    const runId = await workers.createRun(host);
    const offer = await worker.next('task_assignment');
    worker.claim(runId);
    await worker.handled();
    const runner = await workers.startRunner(offer);
    expect(runner.assignment.lease_epoch).toBe(2);
    // Claimed once more, which takes the lease from nobody.
    worker.claim(runId);
    await worker.handled();
    await runner.begin();
    expect((await workers.getRun(runId)).state).toBe('INPROGRESS');
    await runner.endTurn();
    await runner.finish('closed');
    worker.complete(runId);
    await worker.handled();
    expect(await workers.getRun(runId)).toMatchObject({ state: 'SUCCEEDED', is_sandbox_running: false });
    const kinds = (await workers.getTimeline(runId)).map(({ event_type: kind }) => kind);
    expect(kinds.filter((kind) => kind === 'run_claimed')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'run_done')).toHaveLength(1);
  });

  it('may claim before the claim of its worker arrives', async () => {
    const host = workers.newHost();
    const worker = await workers.connect(host);
    const runId = await workers.createRun(host);
    const runner = await workers.startRunner(await worker.next('task_assignment'));
    worker.claim(runId);
    await worker.handled();
    await runner.begin();
    expect((await workers.getRun(runId)).state).toBe('INPROGRESS');
  });

  it('receives follow-ups in its idle session without a slot of the hosted pool', async () => {
    const host = workers.newHost();
    const worker = await workers.connect(host);
    const runId = await workers.createRun(host);
    const runner = await workers.startRunner(await worker.next('task_assignment'));
    await runner.begin();
    await runner.endTurn();
    expect(await workers.getRun(runId)).toMatchObject({ state: 'SUCCEEDED', is_sandbox_running: true });
    const { body } = await fixture.request(200, `POST /agent/runs/${runId}/followups`, {
      token: fixture.bot.token,
      body: { message: 'And now the docs.' },
    });
    expect(body.outcome).toBe('live_session');
    const { prompts } = await runner.commands(1);
    expect(prompts).toEqual([{ followup_id: body.followup_id, message: 'And now the docs.' }]);
    expect(await workers.executions(runId)).toEqual([expect.objectContaining({ slot_held: false })]);
  });

  it('is replaced by another one on the same host for a follow-up after its end', async () => {
    const host = workers.newHost();
    const worker = await workers.connect(host);
    const runId = await workers.createRun(host);
    const runner = await workers.startRunner(await worker.next('task_assignment'));
    await runner.begin();
    await runner.endTurn();
    await runner.finish('closed');
    const { body } = await fixture.request(200, `POST /agent/runs/${runId}/followups`, {
      token: fixture.bot.token,
      body: { message: 'Once more.' },
    });
    expect(body.outcome).toBe('handoff_execution');
    const again = await worker.next('task_assignment');
    expect(again.data.task_id).toBe(runId);
    expect(again.data.task.agent_conversation_id).toEqual(expect.any(String));
    const next = await workers.startRunner(again);
    expect(next.assignment).toMatchObject({ prompt: null, resume: { session_id: expect.any(String) } });
  });
});

describe('a worker whose runner does not report', () => {
  const claimed = async () => {
    const host = workers.newHost();
    const worker = await workers.connect(host);
    const runId = await workers.createRun(host);
    await worker.next('task_assignment');
    worker.claim(runId);
    return { worker, runId };
  };

  it('sets the run to SUCCEEDED with task_completed, also when its claim was lost', async () => {
    const { worker, runId } = await claimed();
    worker.complete(runId);
    worker.complete(runId);
    await worker.handled();
    expect((await workers.getRun(runId)).state).toBe('SUCCEEDED');
    const unclaimed = await workers.createRun(worker.host);
    await worker.next('task_assignment');
    worker.complete(unclaimed);
    await worker.handled();
    expect((await workers.getRun(unclaimed)).state).toBe('SUCCEEDED');
  });

  it('sets the run to CANCELLED with a cancelled task', async () => {
    const { worker, runId } = await claimed();
    worker.complete(runId, { task_state: 'CANCELLED' });
    await worker.handled();
    expect((await workers.getRun(runId)).state).toBe('CANCELLED');
  });

  it.each([
    [{ failure_reason: 'environment_setup_failed' }, 'FAILED', 'environment_setup_failed'],
    [{ failure_reason: 'SETUP_FAILED', exit_code: 2 }, 'FAILED', 'environment_setup_failed'],
    [{ exit_code: 137 }, 'FAILED', 'agent_process_failed'],
    [{ failure_reason: 'agent exited', exit_code: 70 }, 'ERROR', 'internal_error'],
    [{}, 'ERROR', 'internal_error'],
  ])('with a task that failed with %o sets the run to %s with %s', async (fields, state, code) => {
    const { worker, runId } = await claimed();
    worker.say({ type: 'task_failed', data: { task_id: runId, message: 'It broke.', ...fields } });
    await worker.handled();
    expect(await workers.getRun(runId)).toMatchObject({
      state,
      status_message: { message: 'It broke.', error_code: code },
    });
  });
});

describe('a cancellation', () => {
  it('of a self-hosted run is rejected', async () => {
    const host = workers.newHost();
    const runId = await workers.createRun(host);
    const { body } = await fixture.request(422, `POST /agent/runs/${runId}/cancel`, { token: fixture.bot.token });
    expect(body.error_code).toBe('operation_not_supported');
  });
});
