import { createHash } from 'node:crypto';
import { type Clock, SystemClock, ownVersion } from '#platform/kernel';
import { BUILTIN_HARNESS, type DetectedHarness, detectHarnesses } from '#execution/runner';
import type { WorkerHarness } from '#execution/worker-protocol';
import { WorkerFault } from './backend.js';
import { chooseBackend } from './choose-backend.js';
import { alone, installationKey, openDataDirectory, withinDataDirectory } from './data-directory.js';
import { Journal } from './journal.js';
import { localSkills } from './local-skills.js';
import { serveMetrics } from './metrics-server.js';
import { WorkerMetrics } from './metrics.js';
import { isOpenToAll } from './options/read-worker-options.js';
import type { WorkerOptions } from './options/read-worker-options.js';
import { outcomeCode } from './run-outcome.js';
import { workerLog } from './worker-log.js';
import { Worker, type WorkerEnd } from './worker.js';

export interface RunWorkerOptions {
  /** Gets the log, line by line. */
  readonly write: (line: string) => void;
  /** Aborts when the worker shall drain. */
  readonly drain: AbortSignal;
  /** Aborts when what runs shall be stopped, too. */
  readonly stop: AbortSignal;
  readonly clock?: Clock;
}

/** Runs the daemon to its end. Returns the exit code; rejects with WorkerFault when it cannot start. */
export async function runWorker(given: WorkerOptions, run: RunWorkerOptions): Promise<number> {
  const clock = run.clock ?? new SystemClock();
  const log = workerLog(run.write, clock, given.logLevel);
  const dataDir = openDataDirectory(given.dataDir);
  const options: WorkerOptions = { ...given, dataDir };
  const version = ownVersion();
  const metrics = new WorkerMetrics({ version, backend: options.backend, worker_id: options.workerId });
  const end = await alone(dataDir, log, run.drain, async (): Promise<WorkerEnd> => {
    const key = withinDataDirectory(dataDir, () => installationKey(dataDir));
    const backend = chooseBackend(options, key, log);
    await backend.prepare();
    const journal = withinDataDirectory(dataDir, () => new Journal(dataDir, log));
    const describe = async () => ({
      version,
      harnesses: [
        { id: BUILTIN_HARNESS, installed: true, version },
        ...(await detectHarnesses(options.harnesses)).map((found) => withHint(found, options)),
      ],
      skills: localSkills(options.skillsDirs, log),
    });
    const worker = new Worker({
      options,
      backend,
      journal,
      metrics,
      clock,
      log,
      describe,
      instanceId: instanceIdOf(key),
    });
    const served =
      options.metricsPort === null
        ? null
        : await serveMetrics(
            { port: options.metricsPort, host: options.metricsHost },
            metrics,
            () => worker.isConnected,
          );
    if (served) log.info('metrics are served', { host: options.metricsHost, port: served.port });
    onAbort(run.drain, () => worker.drain());
    onAbort(run.stop, () => worker.stop());
    if (options.apiKeyFile !== null && isOpenToAll(options.apiKeyFile))
      log.warn('runs may read the API key, as every user of this machine: chmod 600 its file', {
        file: options.apiKeyFile,
      });
    log.info('worker starts', { version, worker_id: options.workerId, backend: backend.name, pid: process.pid });
    try {
      return await worker.run();
    } finally {
      served?.close();
      await backend.close();
    }
  });
  if (end.fault !== null) throw new WorkerFault(end.fault.message, end.fault.exitCode);
  const code = end.task === null ? 0 : await outcomeCode(options, end.task);
  log.info('worker ends', { exit_code: options.oneShot ? code : 0 });
  return options.oneShot ? code : 0;
}

/** The same over restarts, because a journal has one daemon at a time. Tells nothing of the key. */
const instanceIdOf = (key: string): string => createHash('sha256').update(`instance ${key}`).digest('hex').slice(0, 32);

/** Those of the table are known to the server, too. */
function withHint(found: DetectedHarness, { harnesses }: Pick<WorkerOptions, 'harnesses'>): WorkerHarness {
  const own = Object.hasOwn(harnesses, found.id) ? harnesses[found.id] : undefined;
  return own === undefined ? found : { ...found, install_hint: own.install_hint };
}

function onAbort(signal: AbortSignal, then: () => void): void {
  if (signal.aborted) then();
  else signal.addEventListener('abort', then, { once: true });
}
