import { createHash, createHmac } from 'node:crypto';
import { join } from 'node:path';
import { BUILTIN_HARNESS, type DetectedHarness, detectHarnesses, jsonLinesLog, onAbort } from '#execution/runner';
import {
  type Backend,
  BackendFault,
  DockerBackend,
  type HostLog,
  isLoopbackUrl,
  KubernetesBackend,
  ProcessBackend,
} from '#execution/backends';
import type { WorkerHarness } from '#execution/worker-protocol';
import { ownVersion, SystemClock } from '#platform/kernel';
import { installationKey, openDataDirectory, withDirectoryLock, withinDataDirectory } from './data-directory.js';
import { Journal } from './journal.js';
import { localSkills } from './local-skills.js';
import { serveMetrics, WorkerMetrics } from './metrics.js';
import { isWorldReadable, type WorkerOptions } from './options/read-worker-options.js';
import { outcomeCode } from './run-state.js';
import { WorkerFault } from './worker-fault.js';
import { WorkerDaemon, type WorkerEnd } from './worker-daemon.js';

export interface RunWorkerOptions {
  readonly write: (line: string) => void;
  readonly drain: AbortSignal;
  readonly stop: AbortSignal;
  /** Of a plugin, when the options name it. */
  readonly backend?: Backend | undefined;
}

/** Runs the daemon to its end. Returns the exit code; rejects with WorkerFault when it cannot start. */
export async function runWorker(given: WorkerOptions, run: RunWorkerOptions): Promise<number> {
  const clock = new SystemClock();
  const log = jsonLinesLog(run.write, clock, {}, given.logLevel);
  const dataDir = openDataDirectory(given.dataDir);
  const options: WorkerOptions = { ...given, dataDir };
  const version = ownVersion();
  const metrics = new WorkerMetrics({ version, backend: options.backend, worker_id: options.workerId });
  const end = await withDirectoryLock(dataDir, log, run.drain, async (): Promise<WorkerEnd> => {
    const key = withinDataDirectory(dataDir, () => installationKey(dataDir));
    if (options.backend === 'docker' || options.backend === 'kubernetes')
      rejectLoopback(options.backend, options[options.backend].apiOrigin);
    const backend = run.backend ?? chooseBackend(options, key, log);
    await prepare(backend);
    const journal = withinDataDirectory(dataDir, () => new Journal(dataDir, log));
    const describe = async () => ({
      version,
      harnesses: [
        { id: BUILTIN_HARNESS, installed: true, version },
        ...(await detectHarnesses(options.harnesses)).map((found) => withHint(found, options)),
      ],
      skills: localSkills(options.skillsDirs, log),
    });
    const worker = new WorkerDaemon({
      options,
      backend,
      marker: markerOf(key),
      journal,
      metrics,
      clock,
      log,
      describe,
      instanceId: instanceIdOf(key),
    });
    const { metricsHost: host, metricsPort } = options;
    const served =
      metricsPort === null ? null : await serveMetrics({ host, port: metricsPort }, metrics, () => worker.isConnected);
    if (served) log.info('metrics are served', { host, port: served.port });
    onAbort(run.drain, () => worker.drain());
    onAbort(run.stop, () => worker.stop());
    if (options.apiKeyFile !== null && isWorldReadable(options.apiKeyFile))
      log.warn('every user of this machine, including runs, can read the API key: chmod 600 its file', {
        file: options.apiKeyFile,
      });
    log.info('worker starts', { version, worker_id: options.workerId, backend: backend.name, pid: process.pid });
    try {
      return await worker.run();
    } finally {
      served?.close();
    }
  });
  if (end.fault !== null) throw new WorkerFault(end.fault.message, end.fault.exitCode);
  const code = end.task === null ? 0 : await outcomeCode(options, end.task);
  log.info('worker ends', { exit_code: options.oneShot ? code : 0 });
  return options.oneShot ? code : 0;
}

/** Stable over restarts, because a data directory has one daemon at a time. Does not reveal the key. */
const instanceIdOf = (key: string): string => createHash('sha256').update(`instance ${key}`).digest('hex').slice(0, 32);

/** The same after a restart of the daemon. Nobody without the key can compute the marker of an execution. */
const markerOf = (key: string) => (executionId: string) =>
  createHmac('sha256', key).update(`execution ${executionId}`).digest('hex');

/** The server knows the hints of built-in harnesses. */
function withHint(found: DetectedHarness, { harnesses }: Pick<WorkerOptions, 'harnesses'>): WorkerHarness {
  const own = Object.hasOwn(harnesses, found.id) ? harnesses[found.id] : undefined;
  return own === undefined ? found : { ...found, install_hint: own.install_hint };
}

/** @param installationKey of the data directory; users and names are derived from it, and it never leaves the process. */
export function chooseBackend(options: WorkerOptions, installationKey: string, log: HostLog): Backend {
  const { environment, git, process: local, docker, kubernetes, dataDir, cleanup } = options;
  switch (options.backend) {
    case 'process':
      return new ProcessBackend(
        {
          agentUidBase: local.agentUidBase,
          agentUidCount: local.agentUidCount,
          secretsKey: installationKey,
          workspacesDir: local.workspaceRoot,
          dataDir,
          settingName: '--workspace-root',
          environment,
          git: { ...git, mirrors_dir: join(dataDir, 'mirrors') },
          marker: markerOf(installationKey),
        },
        log,
      );
    case 'docker':
      return new DockerBackend({ ...docker, environment, cleanup, installationKey }, log);
    case 'kubernetes':
      return new KubernetesBackend({ ...kubernetes, environment, installationKey }, log);
    default:
      throw new WorkerFault(`There is no backend ${options.backend}.`);
  }
}

async function prepare(backend: Backend): Promise<void> {
  await backend.prepare().catch((error: unknown) => {
    throw error instanceof BackendFault ? new WorkerFault(error.message) : error;
  });
  if (backend.isReady) return;
  if (backend.name !== 'docker' && backend.name !== 'kubernetes')
    throw new WorkerFault(`The backend ${backend.name} is not ready; see the log.`);
  const address = backend.name === 'docker' ? 'DOCKER_HOST' : 'KUBECONFIG';
  const server = backend.name === 'docker' ? 'Docker Engine' : 'Kubernetes API';
  throw new WorkerFault(`No ${server} answers; see the log, and ${address}.`);
}

function rejectLoopback(section: string, apiOrigin: string): void {
  if (isLoopbackUrl(apiOrigin))
    throw new WorkerFault(
      `Inside a container ${apiOrigin} is the container itself: set server_root_url of the ${section} section to an address of the API that containers reach, such as http://host.docker.internal:3000.`,
    );
}
