import { tmpdir } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freePort, until } from '../support/installation.js';
import type { ExecutorInstallation } from '../support/executor-installation.js';
import { anyContainer, startInstallation } from './docker-installation.js';

const AT_ONCE = 20;

describe('docker executor', () => {
  let installation: ExecutorInstallation;

  beforeAll(async () => {
    installation = await startInstallation({
      MAX_CONCURRENT_RUNS: String(AT_ONCE),
      MAX_CONCURRENT_RUNS_PER_TEAM: String(AT_ONCE),
      DOCKER_CPUS: '0.5',
    });
  });
  afterAll(() => installation.stop());
  afterEach(() => installation.nothingIsLeft());

  it('executes a run with setup commands, and continues its conversation in a new container', async () => {
    const { runId, run } = await installation.execute('cat made', { setup_commands: ['echo one > made'] });
    expect(run.state).toBe('SUCCEEDED');
    await installation.nothingIsLeft();
    const message = '```sh\necho two\n```';
    expect((await installation.call('POST', `/agent/runs/${runId}/followups`, { message })).status).toBe(200);
    await installation.says(runId, 'two');
    expect((await installation.waitFor(runId)).state).toBe('SUCCEEDED');
    expect(await installation.conversation(runId)).toContain('one');
  });

  it('cancels a run whose agent ignores SIGTERM, and removes its container', async () => {
    const runId = await installation.createRun('trap "" TERM; echo at work; while true; do sleep 1; done');
    await installation.says(runId, 'at work');
    expect((await installation.call('POST', `/agent/runs/${runId}/cancel`)).status).toBe(200);
    expect((await installation.waitFor(runId)).state).toBe('CANCELLED');
  });

  it(`executes ${AT_ONCE} runs at the same time, and leaves no container and no volume`, async () => {
    const runIds = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) => installation.createRun(`echo "run ${index}"; sleep 2`)),
    );
    const runs = await Promise.all(runIds.map((runId) => installation.waitFor(runId, undefined, 110_000)));
    expect(runs.map(({ state }) => state)).toEqual(runIds.map(() => 'SUCCEEDED'));
  });

  it('passes the checks of headrace doctor for API, executor and container', async () => {
    const text = await installation.files.shell('headrace doctor --json || true', tmpdir());
    const { checks } = JSON.parse(text) as { checks: { check: string; verdict: string }[] };
    for (const name of ['api', 'executor', 'container'])
      expect(checks.find(({ check }) => check === name)).toMatchObject({ verdict: 'ok' });
  });

  it('continues runs whose processor was killed, and removes their containers when it is back', async () => {
    const runId = await installation.createRun('echo at work; sleep 5; echo finished');
    await installation.says(runId, 'at work');
    await installation.killProcessor();
    const queued = await installation.createRun('echo later');
    expect((await installation.waitFor(runId)).state).toBe('SUCCEEDED');
    expect((await installation.call('GET', `/agent/runs/${queued}`)).body.state).toBe('QUEUED');
    await installation.startProcessor();
    expect((await installation.waitFor(queued)).state).toBe('SUCCEEDED');
  });

  it('executes runs whose processor was killed while their containers were started', async () => {
    const runIds = await Promise.all(Array.from({ length: 4 }, (_, index) => installation.createRun(`echo ${index}`)));
    await anyContainer();
    await installation.killProcessor();
    await installation.startProcessor();
    const runs = await Promise.all(runIds.map((runId) => installation.waitFor(runId, undefined, 110_000)));
    expect(runs.map(({ state }) => state)).toEqual(runIds.map(() => 'SUCCEEDED'));
  });

  it('ends runs at work with infrastructure_timeout when the processor is stopped', async () => {
    const runId = await installation.createRun('echo at work; sleep 300');
    await installation.says(runId, 'at work');
    await installation.stopProcessor();
    expect(await installation.waitFor(runId)).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout', retryable: true },
    });
    await installation.nothingIsLeft();
    await installation.startProcessor();
  });
});

describe('docker executor whose containers cannot reach the API', () => {
  it('names RUNNER_API_URL in the log and in the run', async () => {
    const url = `http://host.docker.internal:${await freePort()}`;
    const installation = await startInstallation({ RUNNER_API_URL: url, CLAIM_DEADLINE: '3s' });
    try {
      const { run } = await installation.execute('echo never');
      expect(run).toMatchObject({
        state: 'ERROR',
        status_message: { error_code: 'resource_unavailable', message: expect.stringContaining('RUNNER_API_URL') },
      });
      await until(() => installation.log.includes(url), 10_000, 'the warning');
      await installation.nothingIsLeft();
    } finally {
      await installation.stop();
    }
  });
});
