import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { DockerEngineDouble } from '../support/docker-engine-double.js';
import { describeExecutor } from '../support/executor-conformance.js';
import { freePort, runnersOf } from '../support/installation.js';
import { KubernetesDouble, POD_HOST } from '../support/kubernetes-double.js';

describeExecutor('process', {
  settings: () => Promise.resolve({}),
  leftovers: ({ dataDir }) => {
    const workspaces = join(dataDir, 'workspaces');
    expect(existsSync(workspaces)).toBe(true);
    return readdirSync(workspaces);
  },
  runnerPid: (server) => runnersOf(server.child.pid ?? 0)[0]?.pid,
});

const engine = new DockerEngineDouble();

describeExecutor('docker', {
  settings: async () => {
    engine.images.set('node:22-bookworm', {});
    await engine.up();
    const port = String(await freePort());
    return {
      EXECUTOR: 'docker',
      DOCKER_HOST: engine.host,
      PORT: port,
      RUNNER_API_URL: `http://host.docker.internal:${port}`,
    };
  },
  leftovers: () => [...engine.containers.values()].map(({ name, state }) => `${name} ${state}`),
  runnerPid: () => engine.running[0]?.child?.pid,
  close: () => engine.close(),
});

const cluster = new KubernetesDouble();

describeExecutor('kubernetes', {
  settings: async () => {
    cluster.images.set('node:22-bookworm', 'present');
    await cluster.up();
    const port = String(await freePort());
    return {
      EXECUTOR: 'kubernetes',
      KUBECONFIG: cluster.kubeconfig,
      KUBERNETES_RUNNER_IMAGE: 'headrace:test',
      PORT: port,
      RUNNER_API_URL: `http://${POD_HOST}:${port}`,
    };
  },
  leftovers: () => [...cluster.pods.keys(), ...cluster.secrets.keys()],
  runnerPid: () => cluster.runnerPids[0],
  close: () => cluster.close(),
});
