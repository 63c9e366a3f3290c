import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { settled, SILENCE_MS, WorkerStage } from './worker-stage.js';

let stage: WorkerStage;
beforeAll(async () => {
  stage = await WorkerStage.open();
});
afterAll(async () => {
  const faults = await stage.endOfTest();
  await stage.close();
  expect(faults).toEqual([]);
});

// Each waits for the same silence: at the same time.
describe.concurrent('signs of life', { timeout: 40_000 }, () => {
  it.each(['pings', 'heartbeats'])('%s alone keep the connection and the run', async (kind) => {
    const host = stage.host();
    const worker = await stage.worker(host, { pingEveryMs: kind === 'pings' ? SILENCE_MS / 3 : 0 });
    const runId = await stage.run(host);
    await worker.claim(runId);
    for (let beat = 0; beat < 8; beat += 1) {
      await settled(SILENCE_MS / 3);
      if (kind === 'heartbeats') worker.send('heartbeat');
    }
    expect((await stage.look(runId)).state).toBe('CLAIMED');
    worker.send('task_completed', { task_id: runId, message: 'done' });
    await stage.reaches(runId, 'SUCCEEDED');
  });

  it('a worker that dies silently: its run ends ERROR, and it is listed no more', async () => {
    const host = stage.host();
    const worker = await stage.worker(host);
    const runId = await stage.run(host);
    await worker.claim(runId);
    await stage.reaches(runId, 'CLAIMED');
    worker.fallSilent();
    const begin = performance.now();
    const { status_message: status } = await stage.reaches(runId, 'ERROR', 20_000);
    // 120 s to the contract’s 90 s, and some for a busy machine.
    expect(performance.now() - begin).toBeLessThan((SILENCE_MS * 4) / 3 + 2_500);
    expect(status).toMatchObject({ error_code: 'infrastructure_timeout', retryable: true });
    await worker.closed;
    await vi.waitFor(async () => expect(await stage.connected()).not.toHaveProperty(host), { timeout: 8_000 });
  });

  it('a worker that dies with its socket: its run ends ERROR too', async () => {
    const host = stage.host();
    const worker = await stage.worker(host);
    const runId = await stage.run(host);
    await worker.claim(runId);
    await stage.reaches(runId, 'CLAIMED');
    await worker.cut();
    await settled(SILENCE_MS / 3);
    expect((await stage.look(runId)).state).toBe('CLAIMED');
    const { status_message: status } = await stage.reaches(runId, 'ERROR', 20_000);
    expect(status).toMatchObject({ error_code: 'infrastructure_timeout', retryable: true });
  });

  it('one of two connections of a name dies: its run ends, that of the other goes on', async () => {
    const host = stage.host();
    const [one, other] = [await stage.worker(host), await stage.worker(host, { url: stage.here.url })];
    const held = async (worker: typeof one): Promise<string> => {
      const { data } = await worker.next('task_assignment');
      worker.send('task_claimed', { task_id: data.task_id as string, worker_id: host });
      return data.task_id as string;
    };
    // Both wait before there is anything to claim: what is not claimed in time is offered to the other one.
    const holding = Promise.all([held(one), held(other)]);
    const runIds = [await stage.run(host), await stage.run(host)];
    const [lost, kept] = await holding;
    expect([lost, kept].sort()).toEqual([...runIds].sort());
    await stage.reaches(lost, 'CLAIMED');
    one.fallSilent();
    await stage.reaches(lost, 'ERROR', 20_000);
    await settled(SILENCE_MS / 3);
    expect((await stage.look(kept)).state).toBe('CLAIMED');
    other.send('task_completed', { task_id: kept, message: 'done' });
    await stage.reaches(kept, 'SUCCEEDED');
  });

  it('a worker that dies before it has claimed: the run waits for the next one', async () => {
    const host = stage.host();
    const worker = await stage.worker(host);
    const runId = await stage.run(host);
    await worker.assignment(runId);
    await worker.cut();
    const next = await stage.worker(host);
    await next.claim(runId);
    await stage.reaches(runId, 'CLAIMED');
    next.send('task_completed', { task_id: runId, message: 'done' });
    await stage.reaches(runId, 'SUCCEEDED');
  });

  it('a worker that only lost its socket and comes back keeps its run', async () => {
    const host = stage.host();
    const before = await stage.worker(host);
    const runId = await stage.run(host);
    await before.claim(runId);
    await stage.reaches(runId, 'CLAIMED');
    await before.cut();
    await settled(SILENCE_MS / 3);
    // At another instance, as a balancer may have it.
    const after = await stage.worker(host, { url: stage.here.url });
    // Longer than anybody lives without a sign.
    await settled(SILENCE_MS * 2);
    expect((await stage.look(runId)).state).toBe('CLAIMED');
    after.send('task_completed', { task_id: runId, message: 'done' });
    await stage.reaches(runId, 'SUCCEEDED');
    expect(after.count('task_assignment', runId)).toBe(0);
  });

  it('an answer that is ready while the socket is lost counts when it comes', async () => {
    const host = stage.host();
    const before = await stage.worker(host);
    const runId = await stage.run(host);
    await before.claim(runId);
    await stage.reaches(runId, 'CLAIMED');
    await before.cut();
    const after = await stage.worker(host);
    after.send('task_failed', { task_id: runId, message: 'It broke.', failure_reason: 'setup_command', exit_code: 2 });
    const { status_message: status } = await stage.reaches(runId, 'FAILED');
    expect(status).toMatchObject({ error_code: 'environment_setup_failed' });
  });

  it('an answer that comes after the run was given up changes nothing', async () => {
    const host = stage.host();
    const before = await stage.worker(host);
    const runId = await stage.run(host);
    await before.claim(runId);
    await stage.reaches(runId, 'CLAIMED');
    await before.cut();
    const ended = await stage.reaches(runId, 'ERROR', 20_000);
    const after = await stage.worker(host);
    after.send('task_claimed', { task_id: runId, worker_id: host });
    after.send('task_completed', { task_id: runId, message: 'done after all' });
    await after.pingPong();
    await settled(300);
    expect(await stage.look(runId)).toEqual(ended);
  });

  it('with on_worker_lost: retry, a lost run goes to the next worker as another execution', async () => {
    const host = stage.host();
    const worker = await stage.worker(host);
    const runId = await stage.run(host, { on_worker_lost: 'retry' });
    const { data: first } = await worker.claim(runId);
    await stage.reaches(runId, 'CLAIMED');
    worker.fallSilent();
    const next = await stage.worker(host);
    const { data: second } = await next.claim(runId);
    expect(second.execution_id).not.toBe(first.execution_id);
    await stage.reaches(runId, 'CLAIMED');
    next.send('task_completed', { task_id: runId, message: 'done' });
    await stage.reaches(runId, 'SUCCEEDED');
  });
});
