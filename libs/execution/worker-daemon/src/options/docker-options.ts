import { z } from 'zod';
import { parseUrl } from '#platform/kernel';
import type { DockerBackendOptions, EngineAddress } from '#execution/backends';
import { durationField, integerField, numberField } from './fields.js';

const MIB = 1_048_576;

export type WorkerDocker = Omit<DockerBackendOptions, 'installationKey'> & { readonly apiOrigin: string };

const engineAddress = z
  .string()
  .default('unix:///var/run/docker.sock')
  .transform((value, context): EngineAddress => {
    const [, path] = /^unix:\/\/(\/.+)$/.exec(value) ?? [];
    if (path !== undefined) return { kind: 'socket', path };
    const parsed = /^tcp:\/\/[^/@]+:\d+\/?$/.test(value) ? parseUrl(value) : null;
    if (parsed !== null) {
      const { hostname, port } = parsed;
      return { kind: 'tcp', host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) };
    }
    context.addIssue({ code: 'custom', message: 'must be unix:///path of a socket, or tcp://host:port' });
    return z.NEVER;
  });
const network = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'must be the name of a network')
  .refine((value) => !['none', 'host', 'default'].includes(value), 'must not be none, host or default')
  .default('bridge');
const volume = z.string().regex(/^[^:]+:\/[^:]*(:[A-Za-z,]+)?$/, 'must be host:container or host:container:mode');

export const dockerKeys = {
  volumes: z.array(volume).default([]),
  default_image: z.string().min(1).default('node:22-bookworm'),
  server_root_url: z.url({ protocol: /^https?$/ }).optional(),
  host: engineAddress,
  cert_path: z.string().default(''),
  pull: z.enum(['missing', 'always', 'never']).default('missing'),
  pull_timeout: durationField('10min', '1s', '6h'),
  auth_file: z.string().default(''),
  memory_bytes: integerField(256 * MIB, Number.MAX_SAFE_INTEGER).default(4096 * MIB),
  cpus: numberField(0.1, 4096).default(2),
  pids: integerField(64, 4_194_304).default(1024),
  disk_bytes: integerField(0, Number.MAX_SAFE_INTEGER).default(0),
  network,
  user: z.string().default(''),
  runtime: z.string().default(''),
  runner_source: z.string().default(''),
};

type DockerSection = z.output<z.ZodObject<typeof dockerKeys>>;

/** Environment variables of keys, with the names that the server and Docker use. */
const VARIABLES: Readonly<Record<string, string>> = {
  host: 'DOCKER_HOST',
  cert_path: 'DOCKER_CERT_PATH',
  default_image: 'DOCKER_DEFAULT_IMAGE',
  auth_file: 'DOCKER_AUTH_FILE',
  network: 'DOCKER_NETWORK',
  runtime: 'DOCKER_RUNTIME',
  runner_source: 'DOCKER_RUNNER_SOURCE',
};

/** Keys from the environment, which has precedence over the configuration file. */
export function dockerVariables(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const given = Object.entries(VARIABLES).flatMap(([key, name]) => {
    const value = environment[name];
    return value === undefined || value === '' ? [] : [[key, value] as const];
  });
  return Object.fromEntries(given);
}

export function workerDocker(docker: DockerSection, serverRootUrl: string): WorkerDocker {
  return {
    dockerHost: docker.host,
    dockerCertPath: docker.cert_path,
    dockerPull: docker.pull,
    dockerPullTimeout: docker.pull_timeout,
    dockerAuthFile: docker.auth_file,
    dockerMemoryBytes: docker.memory_bytes,
    dockerCpus: docker.cpus,
    dockerPids: docker.pids,
    dockerDiskBytes: docker.disk_bytes,
    dockerNetwork: docker.network,
    dockerUser: docker.user,
    dockerRuntime: docker.runtime,
    dockerRunnerSource: docker.runner_source,
    dockerDefaultImage: docker.default_image,
    volumes: docker.volumes,
    apiOrigin: (docker.server_root_url ?? serverRootUrl).replace(/\/+$/, ''),
  };
}
