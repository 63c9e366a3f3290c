import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ExecutorInstallation } from '../support/executor-installation.js';
import { tick, until } from '../support/installation.js';
import type { TcpProxy } from '../worker/tcp-proxy.js';
import { TestCluster } from './cluster.js';

const {
  HEADRACE_TEST_KUBERNETES_HOST: host = '',
  HEADRACE_TEST_KUBERNETES_IMAGE: image = 'node:22-bookworm',
  HEADRACE_TEST_KUBERNETES_RUNNER_IMAGE: runnerImage = '',
} = process.env;
const MEMORY_MIB = 384;
const AT_ONCE = 20;
const AWAY_MS = 60_000;
const SECRET = 'the-value-of-a-managed-secret';

const cluster = new TestCluster();
let directory: string;
let proxy: TcpProxy;
let installation: ExecutorInstallation;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'headrace-cluster-'));
  const kubeconfig = join(directory, 'kubeconfig');
  const template = join(directory, 'pod.yaml');
  writeFileSync(
    template,
    'spec: { containers: [{ name: runner, resources: { requests: { cpu: 20m, memory: 64Mi } } }] }',
  );
  proxy = await cluster.startProxy(kubeconfig);
  console.log(`Kubernetes ${await cluster.version()}`);
  installation = await ExecutorInstallation.start(host, () => cluster.leftovers(), {
    EXECUTOR: 'kubernetes',
    KUBECONFIG: kubeconfig,
    KUBERNETES_NAMESPACE: cluster.namespace,
    KUBERNETES_RUNNER_IMAGE: runnerImage,
    KUBERNETES_DEFAULT_IMAGE: image,
    KUBERNETES_MEMORY_BYTES: String(MEMORY_MIB * 1_048_576),
    KUBERNETES_CPUS: '1',
    // Twenty pods fit on a small node.
    KUBERNETES_POD_TEMPLATE: template,
    KUBERNETES_START_TIMEOUT: '2min',
    LEASE_TTL: '30s',
    MAX_CONCURRENT_RUNS: String(AT_ONCE),
    MAX_CONCURRENT_RUNS_PER_TEAM: String(AT_ONCE),
  });
  await installation.call('PUT', '/secrets/TEST_SECRET', { value: SECRET });
});
afterAll(async () => {
  await installation.stop();
  await proxy.stop();
  rmSync(directory, { recursive: true, force: true });
});
/** The kubelet may see late that a container has ended, and removes its pod only after the grace period of 30 s. */
afterEach(() => installation.nothingIsLeft(150_000));

const anyPod = (): Promise<string> => until(async () => (await cluster.pods())[0], 30_000, 'a pod');

describe(`kubernetes executor`, { timeout: 300_000 }, () => {
  it('executes a run with a setup command and a secret, and continues its conversation in a new pod', async () => {
    const { runId, run, conversation } = await installation.execute(
      'cat made; echo "secret of $(printf %s "$TEST_SECRET" | wc -c) bytes"; grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status | tr "\\t" " "; ls /run/headrace; [ -e /var/run/secrets ] || echo "no service account"',
      { setup_commands: ['echo one > made'], secrets: [{ name: 'TEST_SECRET' }] },
    );
    expect(run.state).toBe('SUCCEEDED');
    for (const text of [
      'one',
      `secret of ${SECRET.length} bytes`,
      'CapEff: 0000000000000000',
      'NoNewPrivs: 1',
      'no service account',
    ])
      expect(conversation).toContain(text);
    expect(conversation).not.toContain('handover.json');
    await installation.nothingIsLeft();
    const message = '```sh\necho two\n```';
    expect((await installation.call('POST', `/agent/runs/${runId}/followups`, { message })).status).toBe(200);
    await installation.says(runId, 'two');
    expect((await installation.waitFor(runId)).state).toBe('SUCCEEDED');
  });

  it('shows no secret in the pod, and removes the Secret of the hand-over when the runner has it', async () => {
    const runId = await installation.createRun('echo at work; sleep 60', { secrets: [{ name: 'TEST_SECRET' }] });
    await installation.says(runId, 'at work');
    const name = await anyPod();
    await until(async () => (await cluster.leftovers()).length === 1, 10_000, 'the removal of the Secret');
    const pod = await cluster.pod(name);
    expect(pod).not.toContain(SECRET);
    expect(pod).not.toMatch(/hrx_\d+_/);
    expect((await installation.call('POST', `/agent/runs/${runId}/cancel`)).status).toBe(200);
    expect((await installation.waitFor(runId)).state).toBe('CANCELLED');
  });

  it.each([
    ['does not exist', 'headrace.invalid/no/such:image', 'headrace.invalid/no/such:image'],
    ['has an invalid name', 'Not A Name', 'Not A Name'],
    ...(process.env.HEADRACE_TEST_KUBERNETES_STATIC_IMAGE === undefined
      ? []
      : [['has no dynamic loader', process.env.HEADRACE_TEST_KUBERNETES_STATIC_IMAGE, 'cannot run Headrace’s runner']]),
  ])('fails a run whose image %s', async (_case, name = '', message = '') => {
    const { run } = await installation.execute('echo never', { docker_image: name });
    expect(run).toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'environment_setup_failed', message: expect.stringContaining(message) },
    });
  });

  it('fails a run whose setup command fails', async () => {
    const { run } = await installation.execute('echo never', { setup_commands: ['exit 3'] });
    expect(run).toMatchObject({ state: 'FAILED', status_message: { error_code: 'environment_setup_failed' } });
  });

  it('fails a run whose pod ran out of memory', async () => {
    const small = `perl -e '$x = "a" x ${16 * 1_048_576}; sleep 20'`;
    const { run } = await installation.execute(`for i in $(seq 40); do ${small} & done; wait; sleep 20`);
    expect(run).toMatchObject({ state: 'FAILED', status_message: { error_code: 'agent_process_failed' } });
  });

  it('ends a run at work with infrastructure_timeout when its pod is removed', async () => {
    const runId = await installation.createRun('echo at work; sleep 300');
    await installation.says(runId, 'at work');
    await cluster.forceDelete(await anyPod());
    expect(await installation.waitFor(runId)).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout', retryable: true },
    });
  });

  it('executes runs whose processor was killed before, while and after their pods were started', async () => {
    const atWork = await installation.createRun('echo at work; sleep 15; echo finished');
    await installation.says(atWork, 'at work');
    const others = await Promise.all(Array.from({ length: 4 }, (_, index) => installation.createRun(`echo ${index}`)));
    for (let kill = 0; kill < 3; kill += 1) {
      await anyPod();
      await installation.killProcessor();
      await installation.startProcessor();
    }
    for (const runId of [atWork, ...others]) {
      const { state, status_message: message } = await installation.waitFor(runId, undefined, 200_000);
      expect([state, message ?? null]).toEqual(['SUCCEEDED', null]);
    }
  });

  it(`continues runs while the API server does not answer for ${AWAY_MS / 1000} s`, async () => {
    const runId = await installation.createRun(`echo at work; sleep ${AWAY_MS / 2000}; echo finished`);
    await installation.says(runId, 'at work');
    proxy.cut();
    const queued = await installation.createRun('echo later');
    await tick(AWAY_MS);
    expect((await installation.waitFor(runId)).state).toBe('SUCCEEDED');
    expect((await installation.call('GET', `/agent/runs/${queued}`)).body.state).toBe('QUEUED');
    proxy.heal();
    expect((await installation.waitFor(queued)).state).toBe('SUCCEEDED');
  });

  it(`executes ${AT_ONCE} runs at the same time, and leaves no pod and no Secret`, async () => {
    const runIds = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) => installation.createRun(`echo "run ${index}"; sleep 2`)),
    );
    const runs = await Promise.all(runIds.map((runId) => installation.waitFor(runId, undefined, 280_000)));
    expect(runs.filter(({ state }) => state !== 'SUCCEEDED').map(({ status_message: message }) => message)).toEqual([]);
  });
});
