import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { DockerEngineDouble } from '../support/docker-engine-double.js';
import { describeExecutor } from '../support/executor-conformance.js';
import { freePort, runnersOf } from '../support/installation.js';

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
