import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type BackendTask,
  DockerBackend,
  type DockerBackendOptions,
  KubernetesBackend,
  ProcessBackend,
  type RunningTask,
} from '#execution/backends';
import { RUNNER_EXIT } from '#execution/runner';
import { backendConformance, ControlPlaneDouble } from '#testing';
import { marker, silent, testDockerBackend } from '../support/test-backends.js';
import { DockerEngineDouble } from '../support/docker-engine-double.js';
import { runnersOf, until } from '../support/installation.js';
import { KubernetesDouble, POD_HOST } from '../support/kubernetes-double.js';

const dataDir = mkdtempSync(join(tmpdir(), 'headrace-backends-'));
const workspacesDir = join(dataDir, 'workspaces');
// Agents run as other users.
chmodSync(dataDir, 0o711);

const processBackend = (key: string, warmRunners = 0): ProcessBackend =>
  new ProcessBackend(
    {
      warmRunners,
      agentUidBase: 0,
      agentUidCount: 1000,
      secretsKey: key,
      workspacesDir,
      dataDir,
      git: { clone_timeout_seconds: 30, max_repository_bytes: 1_000_000 },
      marker: (executionId) => marker(key, executionId),
    },
    silent,
  );

for (const [name, warmRunners] of [
  ['process', 0],
  ['process with reused runners', 1],
] as const)
  backendConformance(name, {
    create: (key) => Promise.resolve(processBackend(key, warmRunners)),
    origin: ({ origin }) => origin,
    marker,
    leftovers: () => readdirSync(workspacesDir),
  });

afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

describe('a process backend with runners that wait', { timeout: 120_000 }, () => {
  let before: Set<number>;
  let plane: ControlPlaneDouble;
  let backend: ProcessBackend;

  const runners = (): number[] =>
    runnersOf(process.pid)
      .map(({ pid }) => pid)
      .filter((pid) => !before.has(pid));
  const untilRunners = (count: number): Promise<unknown> =>
    until(() => runners().length === count, 20_000, `${count} runner(s)`);
  const start = async (executionId: string): Promise<RunningTask> => {
    const task = await backend.start(
      {
        executionId,
        image: () => Promise.resolve(null),
        handover: (place) => ({
          base_url: plane.baseUrl,
          execution_id: executionId,
          token: plane.token,
          marker: marker('waiting', executionId),
          claim_seconds: 5,
          limits: {
            max_workspace_bytes: 1_000_000_000,
            max_output_bytes: 1_000_000,
            setup_command_timeout_seconds: 30,
            cancel_step_seconds: 1,
          },
          ...place,
        }),
      },
      new AbortController().signal,
    );
    return task;
  };
  /** Executes to the end, which the control plane requests after the first turn. */
  const execute = async (executionId: string): Promise<RunningTask> => {
    const task = await start(executionId);
    await task.begin();
    await plane.until(() => plane.executionId === executionId && plane.events('turn_ended').length > 0, 'the turn');
    plane.want('close');
    expect(await task.ended).toEqual({ kind: 'exited', code: RUNNER_EXIT.reported, signal: null });
    return task;
  };

  beforeEach(async () => {
    before = new Set(runnersOf(process.pid).map(({ pid }) => pid));
    plane = await ControlPlaneDouble.start();
    backend = processBackend('waiting', 1);
    await backend.prepare();
    await untilRunners(1);
  });
  afterEach(async () => {
    backend.close();
    await untilRunners(0);
    await plane.stop();
    expect(readdirSync(workspacesDir)).toEqual([]);
  });

  it('executes two executions with one process, and no signal or removal of the first reaches the second', async () => {
    const [waiting] = runners();
    const first = await execute('1');
    expect(first.handle.pid).toBe(waiting);
    plane.assignment.prompt = '```sh\necho at work; sleep 300\n```';
    const second = await start('2');
    expect(second.handle.pid).toBe(waiting);
    await second.begin();
    await plane.until(() => JSON.stringify(plane.calls()).includes('at work\\n'), 'the work of the second agent');
    first.signal('SIGKILL');
    await backend.remove('1', first.handle);
    plane.want('stop');
    expect(await second.ended).toEqual({ kind: 'exited', code: RUNNER_EXIT.reported, signal: null });
    expect(plane.finished).toMatchObject({ outcome: 'cancelled' });
  });

  it('does not use a runner again after a signal', async () => {
    const task = await start('1');
    await task.begin();
    await plane.untilEvent('turn_ended');
    task.signal('SIGTERM');
    expect(await task.ended).toMatchObject({ code: RUNNER_EXIT.reported });
    expect((await execute('2')).handle.pid).not.toBe(task.handle.pid);
  });

  it('does not use a runner again after a refused claim', async () => {
    plane.fail('POST /claim', 409);
    const task = await start('1');
    await task.begin();
    expect(await task.ended).toMatchObject({ code: RUNNER_EXIT.claimRefused });
    expect((await execute('2')).handle.pid).not.toBe(task.handle.pid);
  });

  it('starts a runner when the one that waited was killed', async () => {
    const [waiting = 0] = runners();
    process.kill(waiting, 'SIGKILL');
    await untilRunners(0);
    expect((await execute('1')).handle.pid).not.toBe(waiting);
  });

  it('keeps as many runners as configured when there was no start for a while', async () => {
    const [first, second] = [await start('1'), await start('2')];
    await untilRunners(2);
    for (const task of [first, second]) task.signal('SIGKILL');
    await Promise.all([first.ended, second.ended]);
    await untilRunners(1);
    const running = await start('3');
    await untilRunners(2);
    running.signal('SIGKILL');
    await running.ended;
    await untilRunners(1);
  });
});

const engine = new DockerEngineDouble();

const dockerBackend = (installationKey: string, options: Partial<DockerBackendOptions> = {}): DockerBackend =>
  testDockerBackend(engine.socket, installationKey, options);

backendConformance('docker', {
  setUp: () => {
    engine.images.set('node:22-bookworm', {});
    return engine.up();
  },
  tearDown: () => engine.down(),
  create: (installationKey) => Promise.resolve(dockerBackend(installationKey)),
  origin: ({ port }) => `http://host.docker.internal:${port}`,
  marker,
  leftovers: () => [...engine.containers.values()].map(({ name }) => name),
});

const cluster = new KubernetesDouble();

backendConformance('kubernetes', {
  setUp: () => {
    cluster.images.set('node:22-bookworm', 'present');
    return cluster.up();
  },
  tearDown: () => cluster.close(),
  create: (installationKey) =>
    Promise.resolve(
      new KubernetesBackend(
        {
          kubeconfig: cluster.kubeconfig,
          kubernetesNamespace: '',
          kubernetesDefaultImage: 'node:22-bookworm',
          kubernetesRunnerImage: 'headrace:test',
          kubernetesCpus: 1,
          kubernetesMemoryBytes: 1024 ** 3,
          kubernetesDiskBytes: 0,
          kubernetesPodTemplate: '',
          kubernetesStartTimeout: 30_000,
          installationKey,
        },
        silent,
      ),
    ),
  killsAtOnce: false,
  origin: ({ port }) => `http://${POD_HOST}:${port}`,
  marker,
  leftovers: () => [...cluster.pods.keys(), ...cluster.secrets.keys()],
});

describe('docker backend', () => {
  beforeAll(() => engine.up());
  afterAll(() => engine.close());

  it('names DOCKER_RUNTIME when the engine does not know the OCI runtime, and leaves no container', async () => {
    const backend = dockerBackend('runtime', { dockerRuntime: 'runsc' });
    await backend.prepare();
    const task: BackendTask = {
      executionId: '1',
      image: () => Promise.resolve(null),
      handover: () => {
        throw new Error('No runner was started.');
      },
    };
    await expect(backend.start(task, new AbortController().signal)).rejects.toMatchObject({
      reason: 'container_refused',
      message: expect.stringContaining('runsc'),
      hint: expect.stringContaining('DOCKER_RUNTIME'),
    });
    expect(engine.containers.size).toBe(0);
  });
});
