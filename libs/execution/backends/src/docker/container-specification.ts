import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { BlockList, isIP } from 'node:net';
import { findInstallation, PROGRAM } from '#platform/kernel';
import type { DockerOptions } from './engine-connection.js';

/** The directory that is created in every container for its workspace. */
export const HOME_DIRECTORY = 'headrace';
export const WORKSPACE = `/${HOME_DIRECTORY}/workspace`;
const NANO = 1e9;

export interface ContainerOptions {
  /** The id of the inspected image, so that this one is started. */
  readonly imageId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly mounts: readonly RunnerMount[];
  /** `host:container[:mode]` of directories that the operator shares with containers. */
  readonly binds?: readonly string[];
  /** What `host.docker.internal` resolves to; see `DockerEngine.hostAddress`. */
  readonly hostAddress: string;
  /** Processors that the engine's machine has. */
  readonly processors: number;
}

type Limits = Pick<
  DockerOptions,
  | 'dockerMemoryBytes'
  | 'dockerCpus'
  | 'dockerPids'
  | 'dockerDiskBytes'
  | 'dockerNetwork'
  | 'dockerUser'
  | 'dockerRuntime'
>;

/**
 * The request body that creates a container: no privileges, all limits, and of the host only the runner's files,
 * read-only. It contains no secrets: the hand-over is sent to standard input, once the container runs.
 */
export function containerSpecification(
  settings: Limits,
  { imageId, labels, mounts, binds = [], hostAddress, processors }: ContainerOptions,
): object {
  const { dockerMemoryBytes, dockerCpus, dockerPids, dockerDiskBytes, dockerNetwork, dockerUser, dockerRuntime } =
    settings;
  return {
    Image: imageId,
    Entrypoint: [...RUNNER_COMMAND],
    Cmd: ['agent', 'run'],
    // For the runner. Variables of the image reach set-up and agent in the hand-over.
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
      // Reaps orphaned processes of agents and forwards signals.
      Init: true,
      AutoRemove: false,
      RestartPolicy: { Name: 'no' },
      ...(dockerRuntime === '' ? {} : { Runtime: dockerRuntime }),
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
      // The log of the runner is read while it runs; the engine stores none of it.
      LogConfig: { Type: 'none', Config: {} },
    },
  };
}

/** Directory of the runner in every container. */
const PLACE = '/opt/headrace';
/** The mounted parts of an installation; the data directory may be next to them and must not be mounted. */
const PARTS = ['dist', 'node_modules', 'package.json'];

export const RUNNER_COMMAND = [`${PLACE}/bin/node`, `${PLACE}/${PROGRAM}`] as const;

export interface RunnerMount {
  readonly Type: 'bind' | 'volume';
  readonly Source: string;
  readonly Target: string;
  readonly ReadOnly: true;
}

/** Mounts the files of this process or DOCKER_RUNNER_SOURCE read-only. Throws when the program is not built. */
export function runnerMounts({ dockerRunnerSource: source }: Pick<DockerOptions, 'dockerRunnerSource'>): RunnerMount[] {
  if (source !== '') return [mount(source, PLACE, source.startsWith('/') ? 'bind' : 'volume')];
  const root = findInstallation();
  return [
    mount(realpathSync(process.execPath), `${PLACE}/bin/node`),
    ...PARTS.map((part) => mount(realpathSync(join(root, part)), `${PLACE}/${part}`)),
  ];
}

const mount = (source: string, target: string, type: RunnerMount['Type'] = 'bind'): RunnerMount => ({
  Type: type,
  Source: source,
  Target: target,
  ReadOnly: true,
});

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether a URL refers, inside a container, to the container itself. */
export function isLoopbackUrl(url: string): boolean {
  const hostname = new URL(url).hostname.replace(/^\[|\]$/g, '');
  const version = isIP(hostname);
  if (version === 0) return hostname === 'localhost' || hostname.endsWith('.localhost');
  return LOOPBACK.check(hostname, version === 4 ? 'ipv4' : 'ipv6') || hostname === '0.0.0.0' || hostname === '::';
}
