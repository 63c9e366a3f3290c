import { existsSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fence, prompt } from '../runner/runner-process.js';
import { type Program, until } from '../support/installation.js';
import { InstallationWithWorkers } from '../workers/installation-with-workers.js';
import { type DaemonPlace, daemonPlace, journalOf, killRemains, removePlace, startDaemon } from './daemon-process.js';
import { TcpProxy } from './tcp-proxy.js';
import { isLong } from '../support/long-tests.js';

/** The contract's times, or all of them in the small. */
const LEASE_MS = isLong ? 90_000 : 12_000;
const CUT_MS = isLong ? 60_000 : 7_000;
const LOST_MS = isLong ? 120_000 : 16_500;

/** `headrace worker` with the real API: its own processes, real HTTP and WebSocket, a network that can be cut between them. */
describe('headrace worker and the API', { timeout: isLong ? 300_000 : 90_000 }, () => {
  let installation: InstallationWithWorkers;
  let proxy: TcpProxy;
  let place: DaemonPlace;
  let daemon: Program;
  let host: string;

  beforeAll(async () => {
    installation = await InstallationWithWorkers.open({
      leaseTtl: LEASE_MS,
      workerHeartbeatTimeout: LEASE_MS,
      claimDeadline: 15_000,
    });
  }, 60_000);
  afterAll(() => installation.close());
  beforeEach(async () => {
    proxy = await TcpProxy.start(Number(new URL(installation.there.url).port));
    place = daemonPlace(installation.bot.token);
    host = installation.host();
  });
  afterEach(async () => {
    const entries = existsSync(place.dataDir) ? journalOf(place) : [];
    await daemon.stop('SIGKILL');
    killRemains(entries);
    await proxy.stop();
    removePlace(place);
  });

  const start = async (...args: string[]): Promise<void> => {
    daemon = startDaemon(place, ['--server-root-url', proxy.origin, '--worker-id', host, ...args]);
    await daemon.says('"msg":"connected"');
    await until(async () => (await installation.connected())[host] === 1, 10_000, 'presence');
  };
  const working = (seconds: number): string =>
    prompt('Work.', fence('sh', `for i in $(seq ${seconds}); do sleep 1; done; echo finished`));
  const ended = (runId: string, state: string): Promise<Record<string, unknown>> =>
    installation.reaches(runId, state, LOST_MS + 60_000);

  it('executes a queued run to success and drains', async () => {
    const waiting = await installation.run(host, {}, prompt('Say hello.', fence('sh', 'echo hello > hello.txt')));
    await start('--max-concurrent-tasks', '1');
    await ended(waiting, 'SUCCEEDED');
    const next = await installation.run(host, {}, working(2));
    await installation.reaches(next, 'INPROGRESS', 30_000);
    daemon.child.kill('SIGTERM');
    await daemon.says('"msg":"draining"');
    const late = await installation.run(host);
    await ended(next, 'SUCCEEDED');
    expect(await daemon.exited).toBe(0);
    expect(journalOf(place)).toEqual([]);
    expect((await installation.look(late)).state).toBe('QUEUED');
    await until(async () => (await installation.connected())[host] === undefined, 10_000, 'absence');
    expect(daemon.text).not.toContain(installation.bot.token);
    expect(daemon.text).not.toContain('hrx_');
  });

  it('exits with the result of its run with --one-shot', async () => {
    const good = await installation.run(host, {}, 'Say hello.');
    await start('--one-shot');
    expect(await daemon.exited).toBe(0);
    expect((await installation.look(good)).state).toBe('SUCCEEDED');
    const bad = await installation.run(host, {}, prompt('Fail.', fence('fail')));
    await start('--one-shot');
    expect(await daemon.exited).toBe(1);
    expect((await installation.look(bad)).state).toBe('FAILED');
  });

  it(`survives a cut of the network of ${CUT_MS / 1000} s without losing the run`, async () => {
    await start();
    const runId = await installation.run(host, {}, working(Math.ceil(CUT_MS / 1000) + 6));
    await installation.reaches(runId, 'INPROGRESS', 30_000);
    proxy.cut();
    const cutAt = performance.now();
    await until(() => performance.now() - cutAt >= CUT_MS, CUT_MS + 5_000, 'the end of the cut');
    expect((await installation.look(runId)).state).toBe('INPROGRESS');
    proxy.heal();
    await ended(runId, 'SUCCEEDED');
    expect(daemon.child.exitCode).toBeNull();
    await until(async () => (await installation.connected())[host] === 1, 20_000, 'presence');
    const [execution, ...others] = await installation.here.database.query<{ id: string }>(
      'SELECT id FROM executions WHERE run_id = $1',
      [runId],
    );
    expect(execution).toBeDefined();
    expect(others).toEqual([]);
  });

  it('continues its run after a restart of the daemon', async () => {
    await start();
    const runId = await installation.run(host, {}, working(6));
    await installation.reaches(runId, 'INPROGRESS', 30_000);
    await daemon.stop('SIGKILL');
    await start();
    expect(daemon.text).toContain('a runner is supervised again');
    await ended(runId, 'SUCCEEDED');
  });

  it(`ends the run as lost within ${LOST_MS / 1000} s when it dies with its processes`, async () => {
    await start();
    const runId = await installation.run(host, {}, working(600));
    await installation.reaches(runId, 'INPROGRESS', 30_000);
    const entries = journalOf(place);
    const diedAt = performance.now();
    await daemon.stop('SIGKILL');
    killRemains(entries);
    const run = await ended(runId, 'ERROR');
    expect(performance.now() - diedAt).toBeLessThan(LOST_MS);
    expect(run['status_message']).toMatchObject({ error_code: 'infrastructure_timeout', retryable: true });
  });
});
