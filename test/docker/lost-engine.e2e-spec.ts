import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { tick, until } from '../support/installation.js';
import type { ExecutorInstallation } from '../support/executor-installation.js';
import { engine, startInstallation } from './docker-installation.js';

/** The engine that the other files use runs again afterwards. */
async function restart(flags: readonly string[]): Promise<void> {
  await engine.stop();
  await engine.start(flags);
}

describe('an engine that was killed', () => {
  let installation: ExecutorInstallation;

  beforeAll(async () => {
    installation = await startInstallation({ MAX_CONCURRENT_RUNS: '1', MAX_CONCURRENT_RUNS_PER_TEAM: '1' });
  });
  afterAll(() => installation.stop());
  afterEach(async () => {
    if (!engine.isRunning()) await engine.start();
    await installation.nothingIsLeft();
  });

  it('ends runs at work with infrastructure_timeout, and executes queued ones when it is back', async () => {
    const atWork = await installation.createRun('echo at work; sleep 300');
    await installation.says(atWork, 'at work');
    const queued = await installation.createRun('echo later');
    await engine.kill();
    await engine.start();
    expect(await installation.waitFor(atWork)).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout', retryable: true },
    });
    expect((await installation.waitFor(queued)).state).toBe('SUCCEEDED');
  });

  it('leaves runs in the queue while it is away, and is reported once', async () => {
    const reports = (): number => installation.log.split('cannot be used').length - 1;
    // The processor knows that the engine is available.
    expect((await installation.execute('echo first')).run.state).toBe('SUCCEEDED');
    const before = reports();
    await engine.kill();
    await until(() => reports() > before, 20_000, 'the report of the engine that does not answer');
    const runId = await installation.createRun('echo later');
    // The processor looks for queued runs four times a second, and checks the engine every two seconds.
    await tick(3000);
    expect((await installation.call('GET', `/agent/runs/${runId}`)).body.state).toBe('QUEUED');
    await engine.start();
    expect((await installation.waitFor(runId)).state).toBe('SUCCEEDED');
    expect(reports()).toBe(before + 1);
  });
});

describe('an engine with live-restore that was killed', () => {
  let installation: ExecutorInstallation;

  beforeAll(async () => {
    await restart(['--live-restore']);
    installation = await startInstallation();
  });
  afterAll(async () => {
    await installation.stop();
    await restart([]);
  });

  it('continues its runs, and executes new ones', async () => {
    const runId = await installation.createRun('echo at work; sleep 8; echo finished');
    await installation.says(runId, 'at work');
    await engine.kill();
    await engine.start(['--live-restore']);
    const later = await installation.createRun('echo later');
    expect((await installation.waitFor(later)).state).toBe('SUCCEEDED');
    expect((await installation.waitFor(runId)).state).toBe('SUCCEEDED');
    expect(await installation.conversation(runId)).toContain('finished');
    await installation.nothingIsLeft();
  });
});
