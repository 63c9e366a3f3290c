import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { SweepExecutions } from '#execution/executions';
import { createTestDatabase, startTestApi, type TestApi } from '#testing';
import { ScriptedWorker } from '../support/scripted-worker.js';
import { PublishedDaemon } from './published-daemon.js';
import { CLAIM_DEADLINE_MS, settled, SILENCE_MS, InstallationWithWorkers } from './installation-with-workers.js';

const ADOPTION_MS = 1_500;
const SIDECAR = 'registry.example.com/headrace-runner:1';
/** Adoption and lease, and some for a busy machine. */
const ADOPTED_END_MS = ADOPTION_MS + SILENCE_MS * 2 + 8_000;

let installation: InstallationWithWorkers;
beforeAll(async () => {
  installation = await InstallationWithWorkers.open({
    workerAdoptionTimeout: ADOPTION_MS,
    workerSidecarImage: SIDECAR,
  });
});
afterEach(async () => {
  expect(await installation.endOfTest()).toEqual([]);
});
afterAll(() => installation.close());

const cancel = (status: number, runId: string) =>
  installation.here.request(status, `POST /agent/runs/${runId}/cancel`, { token: installation.bot.token });

const shutdownsOf = async (runId: string): Promise<unknown[]> => {
  const { body } = await installation.here.request(200, `GET /agent/runs/${runId}/timeline`, {
    token: installation.bot.token,
  });
  const events = body.events as { event_type: string; payload?: unknown }[];
  return events.filter((event) => event.event_type === 'sandbox_shutdown').map((event) => event.payload);
};

describe('a daemon that stops gracefully', () => {
  it('receives no offer after it has reported its tasks, and the next run starts on the next daemon', async () => {
    const daemon = await PublishedDaemon.start(installation, installation.host());
    const [first, next] = [await installation.run(daemon.host), await installation.run(daemon.host)];
    await installation.reaches(first, 'CLAIMED');
    await vi.waitFor(() => expect(daemon.rejected).toEqual([next]));
    await daemon.terminate();
    const { status_message: status } = await installation.reaches(first, 'ERROR');
    expect(status).toMatchObject({ error_code: 'infrastructure_timeout', retryable: true });
    expect(daemon.assigned).toEqual([first, next]);
    const restarted = await PublishedDaemon.start(installation, daemon.host);
    await installation.reaches(next, 'CLAIMED');
    restarted.complete(next);
    await installation.reaches(next, 'SUCCEEDED');
  });

  it('does not receive again the run that it has just killed, with on_worker_lost: retry', async () => {
    const daemon = await PublishedDaemon.start(installation, installation.host());
    const runId = await installation.run(daemon.host, { on_worker_lost: 'retry' });
    await installation.reaches(runId, 'CLAIMED');
    await daemon.terminate();
    expect(daemon.assigned).toEqual([runId]);
    const restarted = await PublishedDaemon.start(installation, daemon.host);
    await installation.reaches(runId, 'CLAIMED');
    restarted.complete(runId);
    await installation.reaches(runId, 'SUCCEEDED');
  });

  it('leaves no run to the next connection: claimed runs end, and offered runs are offered again at once', async () => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const [claimed, offered] = [await installation.run(host), await installation.run(host)];
    await worker.claim(claimed);
    await worker.assignment(offered);
    await installation.reaches(claimed, 'CLAIMED');
    await worker.close();
    const next = await installation.worker(host);
    await next.claim(offered);
    const [row] = await installation.here.database.query<{ offers: number }>('SELECT offers FROM runs WHERE id = $1', [
      offered,
    ]);
    expect(row?.offers).toBe(1);
    const { status_message: status } = await installation.reaches(claimed, 'ERROR', SILENCE_MS * 2 + 5_000);
    expect(status).toMatchObject({
      error_code: 'infrastructure_timeout',
      message: expect.not.stringContaining('was stopped'),
    });
    next.send('task_completed', { task_id: offered, message: 'done' });
    await installation.reaches(offered, 'SUCCEEDED');
  });
});

describe('a daemon that was killed and started again', () => {
  const adopted = async (): Promise<string> => {
    const daemon = await PublishedDaemon.start(installation, installation.host());
    const runId = await installation.run(daemon.host);
    await installation.reaches(runId, 'CLAIMED');
    await daemon.kill();
    await PublishedDaemon.start(installation, daemon.host);
    await vi.waitFor(async () =>
      expect((await installation.look(runId)).status_message?.message).toContain('The worker has connected again'),
    );
    return runId;
  };

  it('keeps a run that it has forgotten for WORKER_ADOPTION_TIMEOUT only', { timeout: 40_000 }, async () => {
    const runId = await adopted();
    expect((await installation.look(runId)).state).toBe('CLAIMED');
    const { status_message: status } = await installation.reaches(runId, 'ERROR', ADOPTED_END_MS);
    expect(status).toMatchObject({ error_code: 'infrastructure_timeout', retryable: true });
  });

  it('holds a run that can be cancelled, also where self-hosted runs cannot', async () => {
    const runId = await adopted();
    await cancel(200, runId);
    expect((await installation.look(runId)).state).toBe('CANCELLED');
  });
});

describe('a daemon whose runner does not connect', () => {
  it('gets WORKER_SIDECAR_IMAGE with each assignment', async () => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const { data } = await worker.assignment(await installation.run(host));
    expect(data.sidecar_image).toBe(SIDECAR);
  });

  it.each([
    ['task_completed', {}],
    ['task_failed', { failure_reason: 'agent_invocation', exit_code: 1 }],
  ])('has started its run when it claimed it: %s', async (type, fields) => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const runId = await installation.run(host);
    await worker.claim(runId);
    await installation.reaches(runId, 'CLAIMED');
    await settled(700);
    worker.send(type, { task_id: runId, message: 'It ended.', ...fields });
    const run = await installation.reaches(runId, type === 'task_completed' ? 'SUCCEEDED' : 'FAILED');
    const [started, updated] = [run['started_at'], run['updated_at']].map((at) => Date.parse(at as string));
    expect((updated ?? 0) - (started ?? Infinity)).toBeGreaterThanOrEqual(700);
  });

  it.each([
    { failure_reason: 'evicted', exit_code: 137 },
    { failure_reason: 'task_cancelled' },
    { failure_reason: 'graceful_shutdown', exit_code: 143 },
  ])('ends its run with infrastructure_timeout when the infrastructure failed: %o', async (fields) => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const runId = await installation.run(host);
    await worker.claim(runId);
    await installation.reaches(runId, 'CLAIMED');
    worker.send('task_failed', { task_id: runId, message: 'It went wrong.', ...fields });
    const { status_message: status } = await installation.reaches(runId, 'ERROR');
    expect(status).toMatchObject({ error_code: 'infrastructure_timeout', retryable: true });
  });
});

describe('a queue behind a full daemon', () => {
  it('causes few offers and rejections, no timeline entry, and no failed run', { timeout: 60_000 }, async () => {
    const daemon = await PublishedDaemon.start(installation, installation.host());
    const runs = await Promise.all(Array.from({ length: 40 }, () => installation.run(daemon.host)));
    const completed: string[] = [];
    while (completed.length < 12) {
      const [current] = await vi.waitFor(
        () => {
          expect(daemon.executing).toHaveLength(1);
          return daemon.executing;
        },
        { timeout: 10_000, interval: 10 },
      );
      if (current === undefined) throw new Error('The daemon executes nothing.');
      await installation.reaches(current, 'CLAIMED');
      daemon.complete(current);
      completed.push(current);
    }
    for (const runId of completed) await installation.reaches(runId, 'SUCCEEDED');
    // Three beside the first claim; one each time that a pause of 1, 2, 4 … s is over.
    expect(daemon.rejected.length).toBeLessThan(10);
    for (const runId of new Set(daemon.rejected)) {
      expect((await shutdownsOf(runId)).filter((payload) => JSON.stringify(payload).includes('rejected'))).toEqual([]);
    }
    const states = await Promise.all(runs.map(async (runId) => (await installation.look(runId)).state));
    expect(states.filter((state) => state === 'ERROR')).toEqual([]);
  });

  it('fills all slots of a daemon', async () => {
    const daemon = await PublishedDaemon.start(installation, installation.host(), 7);
    await Promise.all(Array.from({ length: 12 }, () => installation.run(daemon.host)));
    await vi.waitFor(() => expect(daemon.executing).toHaveLength(7), { timeout: 10_000, interval: 20 });
    const [first, second] = daemon.executing;
    if (first === undefined || second === undefined) throw new Error('It executes seven.');
    daemon.complete(first);
    daemon.complete(second);
    await vi.waitFor(() => expect(daemon.executing).toHaveLength(7), { timeout: 10_000, interval: 20 });
  });

  it('counts a claim from its arrival, also when it waits behind other messages', async () => {
    const host = installation.host();
    const worker = await installation.worker(host, { pingEveryMs: SILENCE_MS / 10 });
    const runs = [await installation.run(host), await installation.run(host)] as const;
    const executions: string[] = [];
    for (const runId of runs) executions.push((await worker.assignment(runId)).data.execution_id as string);
    const lock = new pg.Client(installation.here.database.url);
    await lock.connect();
    await lock.query('BEGIN');
    await lock.query('SELECT 1 FROM headrace.runs WHERE id = $1 FOR UPDATE', [runs[0]]);
    for (const runId of runs) worker.send('task_claimed', { task_id: runId, worker_id: host });
    await worker.pingPong();
    await settled(CLAIM_DEADLINE_MS * 2);
    // Longer than a lease was waited for the lock; the lease begins when the claim is written all the same.
    const sweeping = new AbortController();
    const swept = sweepUntil(sweeping.signal);
    await lock.query('ROLLBACK');
    await lock.end();
    for (const runId of runs) await installation.reaches(runId, 'CLAIMED');
    sweeping.abort();
    await swept;
    for (const runId of runs) worker.send('task_completed', { task_id: runId, message: 'done' });
    for (const runId of runs) await installation.reaches(runId, 'SUCCEEDED');
    expect(worker.received.map((frame) => frame.data.execution_id as string)).toEqual(executions);
  });
});

async function sweepUntil(signal: AbortSignal): Promise<void> {
  const sweeper = installation.here.app.get(SweepExecutions, { strict: false });
  while (!signal.aborted) await sweeper.execute();
}

describe('a daemon that reconnects with a run that was abandoned', () => {
  it('gets a cancellation before any offer, and the result of the old task does not end the new one', async () => {
    const daemon = await PublishedDaemon.start(installation, installation.host());
    const runId = await installation.run(daemon.host, { on_worker_lost: 'retry' });
    await installation.reaches(runId, 'CLAIMED');
    await daemon.loseConnection();
    await installation.reaches(runId, 'QUEUED', SILENCE_MS * 2 + 5_000);
    daemon.log.length = 0;
    await daemon.connect();
    await installation.reaches(runId, 'CLAIMED');
    expect(daemon.log).toEqual([`task_cancellation ${runId}`, `task_assignment ${runId}`]);
    daemon.reportCancelled();
    await daemon.connection.pingPong();
    daemon.complete(runId);
    await installation.reaches(runId, 'SUCCEEDED');
  });
});

describe('an outage of every API process', () => {
  const RECONNECT_MS = 2_500;
  const settings = {
    workerHeartbeatTimeout: SILENCE_MS,
    leaseTtl: SILENCE_MS,
    workerReconnectTimeout: RECONNECT_MS,
  };

  it('gives workers WORKER_RECONNECT_TIMEOUT from the restart to reconnect', { timeout: 60_000 }, async () => {
    const database = await createTestDatabase();
    let api: TestApi | null = await startTestApi({ settings, database });
    const team = await api.identities.team();
    const { token } = await api.identities.serviceAccount(team);
    const connect = (name: string, url: string) => ScriptedWorker.connect({ url, token, name, pingEveryMs: 500 });
    const look = async (to: TestApi, runId: string) =>
      (await to.request(200, `GET /agent/runs/${runId}`, { token })).body;
    const runs: string[] = [];
    try {
      for (const host of ['back', 'gone']) {
        const worker = await connect(host, api.url);
        const body = { prompt: 'Fix the build.', config: { worker_host: host } };
        const { run_id: runId } = (await api.request(200, 'POST /agent/runs', { token, body })).body;
        await worker.claim(runId as string);
        const from = api;
        await vi.waitFor(async () => expect((await look(from, runId as string)).state).toBe('CLAIMED'));
        runs.push(runId as string);
        await worker.cut();
      }
      const [back = '', gone = ''] = runs;
      await api.close();
      api = null;
      await database.advanceClock(300_000);
      api = await startTestApi({ settings, database });
      const restarted = api;
      const begin = performance.now();
      const sweep = () => restarted.app.get(SweepExecutions, { strict: false }).execute();
      await sweep();
      expect((await look(restarted, back)).state).toBe('CLAIMED');
      const worker = await connect('back', restarted.url);
      worker.send('task_completed', { task_id: back, message: 'done' });
      await vi.waitFor(
        async () => {
          await sweep();
          expect((await look(restarted, gone)).state).toBe('ERROR');
        },
        { timeout: 15_000, interval: 100 },
      );
      expect(performance.now() - begin).toBeGreaterThan(RECONNECT_MS - 500);
      expect((await look(restarted, back)).state).toBe('SUCCEEDED');
      await worker.cut();
    } finally {
      await api?.close();
      await database.close();
    }
  });
});
