import type { HarnessDefinition, RunnerLimits } from '#execution/runner-protocol';
import type { WorkerDocker } from '../docker/worker-docker.js';
import type { LogLevel } from '../worker-log.js';

/** Everything that the daemon can be told, with its defaults in place. Times in milliseconds unless the name says otherwise. */
export interface WorkerOptions {
  readonly workerId: string;
  /** Asked for each connection, so that a file can get another key. Never log the result. */
  readonly apiKey: () => string;
  /** Where it comes from, when that is a file. */
  readonly apiKeyFile: string | null;
  /** Origin of the API, without `/api/v1`. */
  readonly serverRootUrl: string;
  readonly webSocketUrl: string;
  readonly dataDir: string;
  readonly backend: 'process' | 'docker';
  /** Tasks at once. */
  readonly slots: number;
  readonly drainTimeout: number;
  /** Takes one task and exits with its result. */
  readonly oneShot: boolean;
  /** Null: no metrics. 0: a free port, told in the log. */
  readonly metricsPort: number | null;
  readonly metricsHost: string;
  readonly logLevel: LogLevel;
  /** False: containers stay after their execution. */
  readonly cleanup: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** Repositories of this machine whose skills are told to the server. */
  readonly skillsDirs: readonly string[];
  /** Agents besides the known ones. */
  readonly harnesses: Readonly<Record<string, HarnessDefinition>>;
  /** Set for whatever runs here; environments and harnesses of a run win. */
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: RunnerLimits;
  readonly git: {
    readonly cloneTimeoutSeconds: number;
    readonly maxRepositoryBytes: number;
    readonly maxMirrorsBytes: number;
    readonly localRoots: readonly string[];
  };
  readonly connection: { readonly pingEvery: number; readonly pongTimeout: number; readonly reconnectMax: number };
  readonly process: { readonly workspaceRoot: string; readonly agentUidBase: number; readonly agentUidCount: number };
  readonly docker: WorkerDocker;
}
