import { createHmac } from 'node:crypto';
import { DockerBackend, type DockerBackendOptions, type HostLog } from '#execution/backends';

const ignore = (): void => undefined;
export const silent: HostLog = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** The value that marks the processes of an execution. */
export const marker = (key: string, executionId: string): string =>
  createHmac('sha256', key).update(executionId).digest('hex');

export const testDockerBackend = (
  socket: string,
  installationKey: string,
  options: Partial<DockerBackendOptions> = {},
): DockerBackend =>
  new DockerBackend(
    {
      dockerHost: { kind: 'socket', path: socket },
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
      dockerRuntime: '',
      dockerRunnerSource: '',
      dockerDefaultImage: 'node:22-bookworm',
      installationKey,
      ...options,
    },
    silent,
  );
