import type { DockerOptions } from './docker-options.js';
import { RUNNER_COMMAND, type RunnerMount } from './runner-files.js';

/** The one directory that we make in every container: its workspace goes below it. */
export const HOME_DIRECTORY = 'headrace';
export const WORKSPACE = `/${HOME_DIRECTORY}/workspace`;
const NANO = 1e9;

export interface ContainerWish {
  /** The image's id, so that what was looked at is what runs. */
  readonly imageId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly mounts: readonly RunnerMount[];
  /** `host:container[:mode]` of directories that whoever runs the machine shares with containers. */
  readonly binds?: readonly string[];
  /** What `host.docker.internal` resolves to; see `DockerEngine.hostAddress`. */
  readonly hostAddress: string;
  /** Processors that the engine's machine has. */
  readonly processors: number;
}

type Limits = Pick<
  DockerOptions,
  'dockerMemoryBytes' | 'dockerCpus' | 'dockerPids' | 'dockerDiskBytes' | 'dockerNetwork' | 'dockerUser'
>;

/**
 * The body of a create: no privilege, every limit, nothing of the machine but the runner's own files, read-only. Nothing
 * secret either: the hand-over comes by standard input, once the container runs.
 */
export function containerSpecification(
  settings: Limits,
  { imageId, labels, mounts, binds = [], hostAddress, processors }: ContainerWish,
): object {
  const { dockerMemoryBytes, dockerCpus, dockerPids, dockerDiskBytes, dockerNetwork, dockerUser } = settings;
  return {
    Image: imageId,
    Entrypoint: [...RUNNER_COMMAND],
    Cmd: ['agent', 'run'],
    // For the runner. What the image sets for others reaches set-up and agent by the hand-over.
    Env: ['NODE_ENV=production', 'NODE_OPTIONS='],
    ...(dockerUser === '' ? {} : { User: dockerUser }),
    Hostname: 'headrace',
    WorkingDir: '/',
    Labels: labels,
    Healthcheck: { Test: ['NONE'] },
    StopSignal: 'SIGTERM',
    Tty: false,
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: {
      // Reaps what agents leave behind, and passes signals on.
      Init: true,
      AutoRemove: false,
      RestartPolicy: { Name: 'no' },
      Privileged: false,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      IpcMode: 'private',
      CgroupnsMode: 'private',
      NetworkMode: dockerNetwork,
      ExtraHosts: [`host.docker.internal:${hostAddress}`],
      PublishAllPorts: false,
      Mounts: mounts,
      ...(binds.length === 0 ? {} : { Binds: binds }),
      Memory: dockerMemoryBytes,
      // Together with memory: no swap.
      MemorySwap: dockerMemoryBytes,
      NanoCpus: Math.round(Math.min(dockerCpus, processors) * NANO),
      PidsLimit: dockerPids,
      Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
      ...(dockerDiskBytes === 0 ? {} : { StorageOpt: { size: String(dockerDiskBytes) } }),
      // The runner's log is read while it runs; nothing of it is kept by the engine.
      LogConfig: { Type: 'none', Config: {} },
    },
  };
}
