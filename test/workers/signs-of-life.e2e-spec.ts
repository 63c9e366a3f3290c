import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { settled, SILENCE_MS, InstallationWithWorkers } from './installation-with-workers.js';

let installation: InstallationWithWorkers;
beforeAll(async () => {
  installation = await InstallationWithWorkers.open();
});
afterAll(async () => {
  const faults = await installation.endOfTest();
  await installation.close();
  expect(faults).toEqual([]);
});

// Each waits for the same silence: at the same time.
describe.concurrent('signs of life', { timeout: 40_000 }, () => {
  it.each(['pings', 'heartbeats'])('%s alone keep the connection and the run', async (kind) => {
    const host = installation.host();
    const worker = await installation.worker(host, { pingEveryMs: kind === 'pings' ? SILENCE_MS / 3 : 0 });
    const runId = await installation.run(host);
    await worker.claim(runId);
    for (let beat = 0; beat < 8; beat += 1) {
      await settled(SILENCE_MS / 3);
      if (kind === 'heartbeats') worker.send('heartbeat');
    }
    expect((await installation.look(runId)).state).toBe('CLAIMED');
    worker.send('task_completed', { task_id: runId, message: 'done' });
    await installation.reaches(runId, 'SUCCEEDED');
  });

  it('the run of a silent worker ends in ERROR, and the worker is not listed', async () => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const runId = await installation.run(host);
    await worker.claim(runId);
    await installation.reaches(runId, 'CLAIMED');
    worker.fallSilent();
    const begin = performance.now();
    const { status_message: status } = await installation.reaches(runId, 'ERROR', 20_000);
    // 120 s to the contract’s 90 s, and some for a busy machine.
    expect(performance.now() - begin).toBeLessThan((SILENCE_MS * 4) / 3 + 2_500);
    expect(status).toMatchObject({ error_code: 'infrastructure_timeout', retryable: true });
    await worker.closed;
    await vi.waitFor(async () => expect(await installation.connected()).not.toHaveProperty(host), { timeout: 8_000 });
  });

  it('the run of a worker whose socket closes ends in ERROR', async () => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const runId = await installation.run(host);
    await worker.claim(runId);
    await installation.reaches(runId, 'CLAIMED');
    await worker.cut();
    await settled(SILENCE_MS / 3);
    expect((await installation.look(runId)).state).toBe('CLAIMED');
    const { status_message: status } = await installation.reaches(runId, 'ERROR', 20_000);
    expect(status).toMatchObject({ error_code: 'infrastructure_timeout', retryable: true });
  });

  it('only the run of the closed connection ends when two have the same name', async () => {
    const host = installation.host();
    const [one, other] = [
      await installation.worker(host),
      await installation.worker(host, { url: installation.here.url }),
    ];
    const held = async (worker: typeof one): Promise<string> => {
      const { data } = await worker.next('task_assignment');
      worker.send('task_claimed', { task_id: data.task_id as string, worker_id: host });
      return data.task_id as string;
    };
    // Both wait before there is anything to claim: what is not claimed in time is offered to the other one.
    const holding = Promise.all([held(one), held(other)]);
    const runIds = [await installation.run(host), await installation.run(host)];
    const [lost, kept] = await holding;
    expect([lost, kept].sort()).toEqual([...runIds].sort());
    await installation.reaches(lost, 'CLAIMED');
    one.fallSilent();
    await installation.reaches(lost, 'ERROR', 20_000);
    await settled(SILENCE_MS / 3);
    expect((await installation.look(kept)).state).toBe('CLAIMED');
    other.send('task_completed', { task_id: kept, message: 'done' });
    await installation.reaches(kept, 'SUCCEEDED');
  });

  it('an unclaimed run waits for the next worker', async () => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const runId = await installation.run(host);
    await worker.assignment(runId);
    await worker.cut();
    const next = await installation.worker(host);
    await next.claim(runId);
    await installation.reaches(runId, 'CLAIMED');
    next.send('task_completed', { task_id: runId, message: 'done' });
    await installation.reaches(runId, 'SUCCEEDED');
  });

  it('a worker that reconnects keeps its run', async () => {
    const host = installation.host();
    const before = await installation.worker(host);
    const runId = await installation.run(host);
    await before.claim(runId);
    await installation.reaches(runId, 'CLAIMED');
    await before.cut();
    await settled(SILENCE_MS / 3);
    // At another instance, as a balancer may have it.
    const after = await installation.worker(host, { url: installation.here.url });
    // Longer than anybody lives without a sign.
    await settled(SILENCE_MS * 2);
    expect((await installation.look(runId)).state).toBe('CLAIMED');
    after.send('task_completed', { task_id: runId, message: 'done' });
    await installation.reaches(runId, 'SUCCEEDED');
    expect(after.count('task_assignment', runId)).toBe(0);
  });

  it('a result that is sent after the reconnect is accepted', async () => {
    const host = installation.host();
    const before = await installation.worker(host);
    const runId = await installation.run(host);
    await before.claim(runId);
    await installation.reaches(runId, 'CLAIMED');
    await before.cut();
    const after = await installation.worker(host);
    after.send('task_failed', { task_id: runId, message: 'It broke.', failure_reason: 'setup_command', exit_code: 2 });
    const { status_message: status } = await installation.reaches(runId, 'FAILED');
    expect(status).toMatchObject({ error_code: 'environment_setup_failed' });
  });

  it('a result after the end of the run changes nothing', async () => {
    const host = installation.host();
    const before = await installation.worker(host);
    const runId = await installation.run(host);
    await before.claim(runId);
    await installation.reaches(runId, 'CLAIMED');
    await before.cut();
    const ended = await installation.reaches(runId, 'ERROR', 20_000);
    const after = await installation.worker(host);
    after.send('task_claimed', { task_id: runId, worker_id: host });
    after.send('task_completed', { task_id: runId, message: 'done after all' });
    await after.pingPong();
    await settled(300);
    expect(await installation.look(runId)).toEqual(ended);
  });

  it('with on_worker_lost: retry, a lost run is assigned to the next worker as another execution', async () => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const runId = await installation.run(host, { on_worker_lost: 'retry' });
    const { data: first } = await worker.claim(runId);
    await installation.reaches(runId, 'CLAIMED');
    worker.fallSilent();
    // A worker that connects before the loss may be the same one, which keeps its run.
    await installation.reaches(runId, 'QUEUED', 20_000);
    const next = await installation.worker(host);
    const { data: second } = await next.claim(runId);
    expect(second.execution_id).not.toBe(first.execution_id);
    await installation.reaches(runId, 'CLAIMED');
    next.send('task_completed', { task_id: runId, message: 'done' });
    await installation.reaches(runId, 'SUCCEEDED');
  });
});
