import { createHmac } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DockerBackend, type HostLog, ProcessBackend } from '#execution/backends';
import { describeBackend } from '../support/backend-conformance.js';
import { DockerEngineDouble } from '../support/docker-engine-double.js';

const ignore = (): void => undefined;
const silent: HostLog = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const marker = (key: string, executionId: string): string =>
  createHmac('sha256', key).update(executionId).digest('hex');

const dataDir = mkdtempSync(join(tmpdir(), 'headrace-backends-'));
const workspacesDir = join(dataDir, 'workspaces');
// Agents run as other users.
chmodSync(dataDir, 0o711);

describeBackend('process', {
  tearDown: () => Promise.resolve(rmSync(dataDir, { recursive: true, force: true })),
  create: (key) =>
    Promise.resolve(
      new ProcessBackend(
        {
          agentUidBase: 0,
          agentUidCount: 1000,
          secretsKey: key,
          workspacesDir,
          dataDir,
          git: { clone_timeout_seconds: 30, max_repository_bytes: 1_000_000 },
          marker: (executionId) => marker(key, executionId),
        },
        silent,
      ),
    ),
  origin: ({ origin }) => origin,
  marker,
  leftovers: () => readdirSync(workspacesDir),
});

const engine = new DockerEngineDouble();

describeBackend('docker', {
  setUp: () => {
    engine.images.set('node:22-bookworm', {});
    return engine.up();
  },
  tearDown: () => engine.close(),
  create: (installationKey) => {
    const [kind, path] = engine.host.split('://');
    if (kind !== 'unix' || path === undefined) throw new Error(`The engine is not on a socket: ${engine.host}`);
    return Promise.resolve(
      new DockerBackend(
        {
          dockerHost: { kind: 'socket', path },
          dockerCertPath: '',
          dockerPull: 'missing',
          dockerPullTimeout: 10_000,
          dockerAuthFile: '',
          dockerMemoryBytes: 1024 ** 3,
          dockerCpus: 1,
          dockerPids: 100,
          dockerDiskBytes: 0,
          dockerNetwork: 'bridge',
          dockerUser: '',
          dockerRunnerSource: '',
          dockerDefaultImage: 'node:22-bookworm',
          installationKey,
        },
        silent,
      ),
    );
  },
  origin: ({ port }) => `http://host.docker.internal:${port}`,
  marker,
  leftovers: () => [...engine.containers.values()].map(({ name }) => name),
});
