import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type BackendTask,
  DockerBackend,
  type DockerBackendOptions,
  KubernetesBackend,
  ProcessBackend,
} from '#execution/backends';
import { backendConformance } from '#testing';
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

backendConformance('process', {
  create: (key) => Promise.resolve(processBackend(key)),
  origin: ({ origin }) => origin,
  marker,
  leftovers: () => readdirSync(workspacesDir),
});

afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

it('starts the next execution with a runner that waits, and replaces it', async () => {
  const ours = (): number[] => runnersOf(process.pid).map(({ pid }) => pid);
  const before = new Set(ours());
  const waiting = (): number[] => ours().filter((pid) => !before.has(pid));
  const backend = processBackend('warm', 1);
  await backend.prepare();
  const [first] = await until(() => waiting().length === 1 && waiting(), 10_000, 'a runner that waits');
  const task = await backend.start(
    { executionId: '1', image: () => Promise.resolve(null), handover: () => ({}) as never },
    new AbortController().signal,
  );
  expect(task.handle.pid).toBe(first);
  await until(() => waiting().length === 2, 10_000, 'the next runner that waits');
  task.signal('SIGKILL');
  await task.ended;
  expect(waiting()).toHaveLength(1);
  for (const pid of waiting()) process.kill(pid, 'SIGKILL');
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
