import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DaemonPlace, startDaemon } from '../worker/daemon-process.js';
import { DockerEngineDouble } from './docker-engine-double.js';
import { type Program, runnersOf } from './installation.js';
import { KubernetesDouble, POD_HOST } from './kubernetes-double.js';

/** Where runners are started. */
export interface Place {
  /** Starts what the backend needs. */
  open(): Promise<void>;
  /** Of a processor that starts its runners here. `port`: of the API. */
  settings(port: string): Readonly<Record<string, string>>;
  /** Options of a daemon that starts its runners here, beside those of every daemon, and its environment. */
  daemon(port: string, directory: string): { readonly args: readonly string[]; readonly env: Record<string, string> };
  runnerPids(host: Program): readonly number[];
  /** Of all executions. `workspaces`: the directory that the host has for them. */
  leftovers(workspaces: string): readonly string[];
  /** What starts the runners ends with all of them, and is there again. */
  killEngine?(): Promise<void>;
  close(): Promise<void>;
}

export type PlaceName = keyof typeof PLACES;

export const PLACES = {
  process: () => processes('0'),
  'process with reused runners': () => processes('2'),
  docker,
  kubernetes,
} as const satisfies Readonly<Record<string, () => Place>>;

/** Starts `headrace worker` with the backend of the place. Resolves when it is connected. */
export async function startDaemonIn(
  place: Place,
  files: DaemonPlace,
  { port, workerId }: { readonly port: string; readonly workerId: string },
): Promise<Program> {
  const { args, env } = place.daemon(port, files.directory);
  const address = ['--server-root-url', `http://127.0.0.1:${port}`, '--worker-id', workerId];
  const daemon = startDaemon(files, [...address, '--max-concurrent-tasks', '8', ...args], env);
  await daemon.says('"msg":"connected"');
  return daemon;
}

/** The directory of a daemon, or of a processor, for the workspaces of its executions. */
export const workspacesIn = (directory: string): string => join(directory, 'workspaces');

function processes(warmRunners: string): Place {
  return {
    open: () => Promise.resolve(),
    settings: () => ({ WARM_RUNNERS: warmRunners }),
    daemon: (_port, directory) => ({
      args: ['--backend', 'process', '--workspace-root', workspacesIn(directory)],
      env: {},
    }),
    runnerPids: (host) => runnersOf(host.child.pid ?? 0).map(({ pid }) => pid),
    leftovers: (workspaces) => readdirSync(workspaces),
    close: () => Promise.resolve(),
  };
}

function docker(): Place {
  const engine = new DockerEngineDouble();
  engine.images.set('node:22-bookworm', {});
  const origin = (port: string): string => `http://host.docker.internal:${port}`;
  return {
    open: () => engine.up(),
    settings: (port) => ({ EXECUTOR: 'docker', DOCKER_HOST: engine.host, RUNNER_API_URL: origin(port) }),
    daemon: (port, directory) => ({
      args: backendFile(directory, { docker: { server_root_url: origin(port), default_image: 'node:22-bookworm' } }),
      env: { DOCKER_HOST: engine.host },
    }),
    runnerPids: () => engine.running.flatMap(({ child }) => child?.pid ?? []),
    leftovers: () => [...engine.containers.values()].map(({ name, state }) => `${name} ${state}`),
    killEngine: async () => {
      await engine.down({ keepsContainers: false });
      await engine.up();
    },
    close: () => engine.close(),
  };
}

function kubernetes(): Place {
  const cluster = new KubernetesDouble();
  cluster.images.set('node:22-bookworm', 'present');
  const origin = (port: string): string => `http://${POD_HOST}:${port}`;
  return {
    open: () => cluster.up(),
    settings: (port) => ({
      EXECUTOR: 'kubernetes',
      KUBECONFIG: cluster.kubeconfig,
      KUBERNETES_RUNNER_IMAGE: 'headrace:test',
      RUNNER_API_URL: origin(port),
    }),
    daemon: (port, directory) => ({
      args: backendFile(directory, {
        kubernetes: {
          kubeconfig: cluster.kubeconfig,
          runner_image: 'headrace:test',
          default_image: 'node:22-bookworm',
          server_root_url: origin(port),
        },
      }),
      env: {},
    }),
    runnerPids: () => cluster.runnerPids,
    leftovers: () => [...cluster.pods.keys(), ...cluster.secrets.keys()],
    close: () => cluster.close(),
  };
}

/** Writes the configuration file of a daemon. Returns the options that name it. */
function backendFile(directory: string, backend: object): string[] {
  const file = join(directory, 'worker.json');
  writeFileSync(file, JSON.stringify({ backend }));
  return ['--config-file', file];
}
