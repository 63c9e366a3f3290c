import { tmpdir } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { answersIn, freePort, Installation, type Program, until } from '../support/installation.js';
import { KubernetesDouble, POD_HOST } from '../support/kubernetes-double.js';
import { isLong } from '../support/long-tests.js';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const DEFAULT_IMAGE = 'node:22-bookworm';
const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

const cluster = new KubernetesDouble();
let installation: Installation;
let server: Program;

beforeAll(async () => {
  cluster.images.set(DEFAULT_IMAGE, 'present');
  cluster.images.set('alpine:3', 'incompatible');
  await cluster.up();
  const port = String(await freePort());
  installation = await Installation.create({
    EXECUTOR: 'kubernetes',
    KUBECONFIG: cluster.kubeconfig,
    KUBERNETES_RUNNER_IMAGE: 'headrace:test',
    KUBERNETES_MEMORY_BYTES: String(512 * 1_048_576),
    KUBERNETES_CPUS: '1',
    KUBERNETES_START_TIMEOUT: '2s',
    PORT: port,
    RUNNER_API_URL: `http://${POD_HOST}:${port}`,
    MAX_IDLE_SESSIONS: '0',
    MAX_CONCURRENT_RUNS: '2',
    MAX_CONCURRENT_RUNS_PER_TEAM: '2',
  });
  server = await installation.up();
});
afterAll(async () => {
  await server.stop('SIGTERM');
  await cluster.close();
  installation.remove();
});
afterEach(async () => {
  cluster.isSchedulable = true;
  cluster.quota = null;
  await until(() => cluster.pods.size + cluster.secrets.size === 0, 30_000, 'the removal of pods and secrets');
});

const conversationOf = async (runId: string): Promise<string> =>
  answersIn((await installation.call('GET', `/agent/runs/${runId}/conversation`)).body);
const atWork = (runId: string) =>
  until(async () => (await conversationOf(runId)).includes('at work'), 30_000, 'the work of the agent');
const runIn = async (image: string, script: string): Promise<string> => {
  const config = { name: 'kubernetes', docker_image: image };
  const { body } = await installation.call('POST', '/environments', { config });
  return installation.createRun(sh(script), { config: { environment_id: body.uid } });
};
const podName = (): string => [...cluster.pods.keys()][0] ?? '';

describe('kubernetes executor', { timeout: 90_000 }, () => {
  it('executes a run in a confined pod, whose hand-over is in a Secret until its runner has it', async () => {
    const runId = await installation.createRun(sh('echo at work; sleep 1'));
    await atWork(runId);
    expect(cluster.secrets.size).toBe(0);
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    const pod = cluster.calls.findLast(({ method, path }) => method === 'POST' && path.endsWith('/pods'))?.body;
    expect(pod).toMatchObject({
      metadata: {
        labels: {
          'io.headrace.installation': expect.stringMatching(/^[0-9a-f]{12}$/),
          'io.headrace.execution': expect.stringMatching(/^\d+$/),
        },
      },
      spec: {
        restartPolicy: 'Never',
        automountServiceAccountToken: false,
        containers: [
          {
            image: DEFAULT_IMAGE,
            resources: { limits: { cpu: '1', memory: String(512 * 1_048_576) } },
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          },
        ],
      },
    });
    expect(pod.metadata.finalizers).toBeUndefined();
    const [secret] = cluster.createdSecrets;
    const { token } = JSON.parse(secret?.stringData?.['handover.json'] ?? '{}');
    expect(token).toMatch(/^hrx_\d+_/);
    expect(JSON.stringify(pod)).not.toContain(token);
    expect(secret?.metadata?.ownerReferences?.[0]).toMatchObject({ kind: 'Pod', name: pod.metadata.name });
  });

  it('continues a conversation in a new pod', async () => {
    const runId = await installation.createRun(sh('echo one'));
    await installation.waitFor(runId, ENDED);
    await installation.call('POST', `/agent/runs/${runId}/followups`, { message: sh('echo two') });
    await until(async () => (await conversationOf(runId)).includes('two'), 30_000, 'the second turn');
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
  });

  it('removes the pod of a cancelled run', async () => {
    const runId = await installation.createRun(sh('echo at work; sleep 300'));
    await atWork(runId);
    expect(cluster.handoverFiles).toEqual([]);
    expect((await installation.call('POST', `/agent/runs/${runId}/cancel`)).status).toBe(200);
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'CANCELLED' });
  });

  it.each([
    ['cannot be pulled', 'nobody/has-it:1', /nobody\/has-it:1 could not be pulled: Back-off pulling image/],
    ['cannot run the runner', 'alpine:3', /alpine:3 cannot run Headrace’s runner/],
  ])('fails a run whose image %s', async (_case, image, message) => {
    const runId = await runIn(image, 'echo never');
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'environment_setup_failed', message: expect.stringMatching(message) },
    });
  });

  it('fails a run that exceeds its memory', async () => {
    const runId = await installation.createRun(sh('echo at work; sleep 300'));
    await atWork(runId);
    cluster.runOutOfMemory(podName());
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'agent_process_failed', message: expect.stringContaining('512 MiB') },
    });
  });

  it('ends a run at work with infrastructure_timeout when its pod is evicted or its node is lost', async () => {
    const [first, second] = [
      await installation.createRun(sh('echo at work; sleep 300')),
      await installation.createRun(sh('echo at work; sleep 300')),
    ];
    await Promise.all([atWork(first), atWork(second)]);
    cluster.evict(podName(), 'The node was low on resource: memory.');
    cluster.removeNode();
    for (const runId of [first, second])
      expect(await installation.waitFor(runId, ENDED)).toMatchObject({
        state: 'ERROR',
        status_message: { error_code: 'infrastructure_timeout', retryable: true },
      });
  });

  it.runIf(isLong)('says why a run cannot be placed on a node, or why its pod is rejected', async () => {
    cluster.isSchedulable = false;
    const unplaced = await installation.createRun(sh('echo never'));
    expect(await installation.waitFor(unplaced, ENDED, 60_000)).toMatchObject({
      state: 'ERROR',
      status_message: {
        error_code: 'resource_unavailable',
        message: expect.stringContaining('0/1 nodes are available: 1 Insufficient memory.'),
      },
    });
    cluster.isSchedulable = true;
    cluster.quota = 'exceeded quota: pods';
    const rejected = await installation.createRun(sh('echo never'));
    expect(await installation.waitFor(rejected, ENDED, 60_000)).toMatchObject({
      state: 'ERROR',
      status_message: { message: expect.stringContaining('exceeded quota: pods') },
    });
  });

  it('is checked by headrace doctor, which names missing rights', async () => {
    cluster.forbidden.add('create secrets');
    const text = await installation.shell('headrace doctor --json || true', tmpdir());
    cluster.forbidden.clear();
    const { checks } = JSON.parse(text) as { checks: { check: string }[] };
    const executor = JSON.stringify(checks.find(({ check }) => check === 'executor'));
    expect(executor).toContain('v1.34.0-double');
    expect(executor).toContain('not allowed to create secrets');
  });

  it('continues runs while the API server does not answer, and when the history of its watch is gone', async () => {
    const runId = await installation.createRun(sh('echo at work; sleep 6; echo finished'));
    await atWork(runId);
    cluster.compact();
    await cluster.down();
    const queued = await installation.createRun(sh('echo later'));
    await server.says('cannot be used');
    await cluster.up();
    for (const one of [runId, queued])
      expect(await installation.waitFor(one, ENDED, 60_000)).toMatchObject({ state: 'SUCCEEDED' });
    cluster.compact();
    const last = await installation.createRun(sh('echo last'));
    expect(await installation.waitFor(last, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
  });
});
