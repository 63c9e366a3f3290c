import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ApiFixture } from '../../support/api-fixture.js';
import { ConnectedWorkers } from './connected-workers.js';

let fixture: ApiFixture;
let workers: ConnectedWorkers;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  workers = await ConnectedWorkers.start(fixture);
});
afterAll(() => workers.close());

/** Longer than a lease lives without a sign of life. */
const SILENCE_MS = 101_000;

const working = async (config: object = {}) => {
  const host = workers.newHost();
  const worker = await workers.connect(host);
  const runId = await workers.createRun(host, config);
  const offer = await worker.next('task_assignment');
  worker.claim(runId);
  await worker.handled();
  return { host, worker, runId, offer };
};
const beat = async (worker: Awaited<ReturnType<typeof working>>['worker'], freeSlots: number) => {
  worker.say({ type: 'beat', data: { draining: false, free_slots: freeSlots, tasks: [] } });
  return (await worker.next('beat')).data;
};
const loseItsWorker = async (worker: Awaited<ReturnType<typeof working>>['worker']) => {
  await worker.vanish();
  await fixture.api.advanceClock(SILENCE_MS);
  await workers.sweep();
};

describe('a worker that dies', () => {
  it('fails its run, and late messages change nothing', async () => {
    const { host, worker, runId } = await working();
    await worker.vanish();
    await fixture.api.advanceClock(99_000);
    await workers.sweep();
    expect((await workers.getRun(runId)).state).toBe('CLAIMED');
    await fixture.api.advanceClock(2_000);
    await workers.sweep();
    const lost = {
      state: 'ERROR',
      is_sandbox_running: false,
      status_message: { error_code: 'infrastructure_timeout', retryable: true },
    };
    expect(await workers.getRun(runId)).toMatchObject(lost);
    const back = await workers.connect(host);
    back.claim(runId);
    back.complete(runId);
    await back.handled();
    expect(await workers.getRun(runId)).toMatchObject(lost);
    expect(back.kept).toEqual(['task_cancellation']);
  });

  it('returns unclaimed runs to the queue', async () => {
    const host = workers.newHost();
    const worker = await workers.connect(host);
    const runId = await workers.createRun(host);
    await worker.next('task_assignment');
    await worker.vanish();
    await fixture.api.advanceClock(fixture.api.settings.claimDeadline);
    await workers.sweep();
    expect((await workers.getRun(runId)).state).toBe('QUEUED');
  });

  it('keeps its run while the runner sends requests', async () => {
    const { worker, runId, offer } = await working();
    const runner = await workers.startRunner(offer);
    await runner.begin();
    await worker.vanish();
    for (let beats = 0; beats < 3; beats += 1) {
      await fixture.api.advanceClock(60_000);
      await runner.call(200, 'POST beat');
      await workers.sweep();
    }
    expect((await workers.getRun(runId)).state).toBe('INPROGRESS');
    await fixture.api.advanceClock(SILENCE_MS);
    await workers.sweep();
    expect((await workers.getRun(runId)).state).toBe('ERROR');
    await runner.call(412, 'POST beat');
  });
});

describe('a worker that comes back', () => {
  it('continues the runs that it had claimed', async () => {
    const { host, worker, runId } = await working();
    await worker.vanish();
    const back = await workers.connect(host);
    back.complete(runId);
    await back.handled();
    expect((await workers.getRun(runId)).state).toBe('SUCCEEDED');
  });

  it('keeps its run when its silent earlier connection is closed later', async () => {
    const { host, worker, runId } = await working();
    const heldBy = async (): Promise<string> => {
      const [row] = await fixture.database.query<{ id: string }>(
        'SELECT worker_connection_id AS id FROM executions WHERE run_id = $1',
        [runId],
      );
      return row?.id ?? '';
    };
    const gone = await heldBy();
    const back = await workers.connect(host);
    await back.handled();
    await worker.vanish();
    // It was last heard of half a minute before the other one came.
    await fixture.database.query(
      `UPDATE executions SET lease_expires_at = lease_expires_at - interval '30 seconds'
        WHERE run_id = $1 AND worker_connection_id = $2`,
      [runId, gone],
    );
    await vi.waitFor(async () => expect(await heldBy()).not.toBe(gone), { timeout: 10_000, interval: 200 });
    await fixture.api.advanceClock(90_000);
    await workers.sweep();
    expect((await workers.getRun(runId)).state).toBe('CLAIMED');
    back.complete(runId);
    await back.handled();
    expect((await workers.getRun(runId)).state).toBe('SUCCEEDED');
  });

  it('reports results after its earlier connection was closed', async () => {
    const { host, worker, runId } = await working();
    const back = await workers.connect(host);
    back.complete(runId);
    await back.handled();
    // Nobody knows yet which of the two has it.
    expect((await workers.getRun(runId)).state).toBe('CLAIMED');
    await worker.vanish();
    await vi.waitFor(async () => expect((await workers.getRun(runId)).state).toBe('SUCCEEDED'), {
      timeout: 10_000,
      interval: 200,
    });
  });

  it('cannot report results of runs of another open connection', async () => {
    const { host, worker, runId } = await working();
    const other = await workers.connect(host);
    await beat(worker, 3);
    other.complete(runId);
    other.say({ type: 'task_failed', data: { task_id: runId, message: 'No.' } });
    await other.handled();
    expect((await workers.getRun(runId)).state).toBe('CLAIMED');
    worker.complete(runId);
    await worker.handled();
    expect((await workers.getRun(runId)).state).toBe('SUCCEEDED');
  });

  it('reports its running tasks, and receives the ones to continue', async () => {
    const host = workers.newHost();
    const hello = { instance_id: 'daemon-1', slots: 4 };
    const { worker } = await workers.connectWithHello(host, hello);
    const [kept, unclaimed] = [await workers.createRun(host), await workers.createRun(host)];
    const offers = [(await worker.next('task_assignment')).data, (await worker.next('task_assignment')).data];
    const executionOf = (runId: string) => offers.find(({ task_id: id }) => id === runId)?.execution_id ?? '';
    worker.claim(kept);
    await worker.handled();
    const ended = await workers.createRun(host);
    const endedOffer = (await worker.next('task_assignment')).data;
    worker.complete(ended);
    await worker.handled();
    // The cut: nobody hears the claim of one, and the older connection is not known to be dead.
    const { worker: back, answer } = await workers.connectWithHello(host, {
      ...hello,
      tasks: [
        { task_id: kept, execution_id: executionOf(kept) },
        { task_id: unclaimed, execution_id: executionOf(unclaimed) },
        { task_id: ended, execution_id: endedOffer.execution_id },
        { task_id: kept, execution_id: '999999999' },
        { task_id: kept, execution_id: 'none' },
      ],
    });
    expect(answer.tasks.map(({ verdict }) => verdict)).toEqual(['keep', 'keep', 'stop', 'unknown', 'unknown']);
    expect((await workers.getRun(unclaimed)).state).toBe('CLAIMED');
    back.say({
      type: 'beat',
      data: {
        draining: false,
        free_slots: 2,
        tasks: [
          { task_id: kept, execution_id: executionOf(kept) },
          { task_id: ended, execution_id: endedOffer.execution_id },
        ],
      },
    });
    expect((await back.next('beat')).data.tasks.map(({ desired }) => desired)).toEqual(['run', 'lost']);
    back.complete(kept);
    back.complete(unclaimed);
    await back.handled();
    expect((await workers.getRun(kept)).state).toBe('SUCCEEDED');
    expect((await workers.getRun(unclaimed)).state).toBe('SUCCEEDED');
  });
});

describe('a hello that names an execution of another connection', () => {
  it('does not take it over while that connection sends heartbeats', async () => {
    const { host, worker, runId, offer } = await working();
    const other = await fixture.api.identities.serviceAccount(fixture.team, 'another');
    const task = { task_id: runId, execution_id: offer.data.execution_id };
    const thief = await workers.connectWithHello(host, { instance_id: 'thief', slots: 4, tasks: [task] }, other.token);
    thief.worker.say({ type: 'task_failed', data: { task_id: runId, message: 'Taken over.' } });
    thief.worker.say({ type: 'beat', data: { draining: false, free_slots: 3, tasks: [task] } });
    await thief.worker.next('beat');
    expect((await workers.getRun(runId)).state).toBe('CLAIMED');
    await beat(worker, 3);
    // Now the holder is known to live.
    thief.worker.say({ type: 'beat', data: { draining: false, free_slots: 3, tasks: [task] } });
    expect((await thief.worker.next('beat')).data.tasks.map(({ desired }) => desired)).toEqual(['lost']);
    worker.complete(runId);
    await worker.handled();
    expect((await workers.getRun(runId)).state).toBe('SUCCEEDED');
  });

  it('closes that connection with its instance id only for the same service account', async () => {
    const host = workers.newHost();
    const { worker } = await workers.connectWithHello(host, { instance_id: 'daemon-1', slots: 1 });
    const runId = await workers.createRun(host);
    const { data } = await worker.next('task_assignment');
    worker.claim(runId);
    await worker.handled();
    const other = await fixture.api.identities.serviceAccount(fixture.team, 'another');
    const hello = {
      instance_id: 'daemon-1',
      slots: 1,
      tasks: [{ task_id: runId, execution_id: data.execution_id }],
    };
    const thief = await workers.connectWithHello(host, hello, other.token);
    thief.worker.complete(runId);
    await thief.worker.handled();
    await worker.handled();
    expect((await workers.getRun(runId)).state).toBe('CLAIMED');
    const { worker: back, answer } = await workers.connectWithHello(host, hello);
    expect(answer.tasks.map(({ verdict }) => verdict)).toEqual(['keep']);
    back.complete(runId);
    await back.handled();
    expect((await workers.getRun(runId)).state).toBe('SUCCEEDED');
  });
});

describe('on_worker_lost', () => {
  it('retry starts again from the prompt, three times at most, and is shown in the timeline', async () => {
    const { host, worker, runId, offer } = await working({ on_worker_lost: 'retry' });
    let runner = await workers.startRunner(offer);
    await runner.begin();
    await loseItsWorker(worker);
    expect(await workers.getRun(runId)).toMatchObject({
      state: 'QUEUED',
      status_message: { message: expect.stringContaining('attempt 2 of 3') },
    });
    await runner.call(412, 'POST beat');
    for (let attempt = 2; attempt <= 3; attempt += 1) {
      const next = await workers.connect(host);
      runner = await workers.startRunner(await next.next('task_assignment'));
      expect(runner.assignment).toMatchObject({ prompt: 'Fix the failing test.', resume: null });
      await runner.begin();
      await loseItsWorker(next);
    }
    expect(await workers.getRun(runId)).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout' },
    });
    const shutdowns = (await workers.getTimeline(runId)).filter(({ event_type: kind }) => kind === 'sandbox_shutdown');
    expect(shutdowns.map(({ payload }) => payload)).toEqual([
      { reason: 'lease_expired', restart: { way: 'retry', attempt: 2 } },
      { reason: 'lease_expired', restart: { way: 'retry', attempt: 3 } },
      { reason: 'lease_expired' },
    ]);
  });

  it('retry starts again when the worker stops before its runner has claimed', async () => {
    const { host, worker, runId } = await working({ on_worker_lost: 'retry' });
    const other = await workers.connect(host);
    worker.say({ type: 'task_failed', data: { task_id: runId, message: 'Going down.', failure_reason: 'shutdown' } });
    await worker.handled();
    expect((await other.next('task_assignment')).data.task_id).toBe(runId);
    expect((await workers.getRun(runId)).status_message.message).toContain('attempt 2 of 3');
  });

  it('resume repeats the current turn in the stored session', async () => {
    const { host, worker, runId, offer } = await working({ on_worker_lost: 'resume' });
    const runner = await workers.startRunner(offer);
    await runner.begin();
    await runner.endTurn();
    const sessionId = `session-${runner.assignment.execution_id}`;
    await fixture.request(
      204,
      `PUT /runner/v1/executions/${runner.assignment.execution_id}/transcript?lease_epoch=${runner.assignment.lease_epoch}&format=oz&session_id=${sessionId}`,
      { token: offer.data.env_vars?.['HEADRACE_EXECUTION_TOKEN'] ?? '', body: { line: 1 } },
    );
    const followup = await fixture.request(200, `POST /agent/runs/${runId}/followups`, {
      token: fixture.bot.token,
      body: { message: 'And the docs.' },
    });
    await runner.report([
      'turn_started',
      { turn_id: 't2', prompt: 'And the docs.', followup_id: followup.body.followup_id },
    ]);
    await loseItsWorker(worker);
    const next = await workers.connect(host);
    const again = await workers.startRunner(await next.next('task_assignment'));
    expect(again.assignment).toMatchObject({ prompt: null, resume: { session_id: sessionId, transcript: true } });
    expect((await again.commands(0)).prompts).toEqual([
      { followup_id: followup.body.followup_id, message: 'And the docs.' },
    ]);
  });

  it('resume starts again without a stored session', async () => {
    const { host, worker, offer } = await working({ on_worker_lost: 'resume' });
    await (await workers.startRunner(offer)).begin();
    await loseItsWorker(worker);
    const next = await workers.connect(host);
    const again = await workers.startRunner(await next.next('task_assignment'));
    expect(again.assignment).toMatchObject({ prompt: 'Fix the failing test.', resume: null });
  });
});
