import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { listWorkspaces } from '../../libs/execution/backends/src/process/workspaces.js';
import { MAIN } from '../support/installation.js';
import { type FoundProcess, isAgent, isRunner, killProcess, processesNaming } from './process-table.js';
import type { LogWatch } from './log-watch.js';
import { SupervisedProcess, type UnexplainedExit } from './supervised-process.js';

const run = promisify(execFile);
const STORE = /\/postgres$|redis-server/;

/** What the load needs to know. */
export interface Access {
  /** With the version prefix. */
  readonly apiUrl: string;
  readonly ingressUrl: string;
  readonly token: string;
  readonly factoryUid: string;
}

/** Something to kill. Resolves to false when nothing was there to be killed. */
export interface Target {
  readonly name: string;
  kill(): boolean | Promise<boolean>;
}

export interface ChaosInstallation {
  readonly home: Home;
  readonly access: Access;
  readonly targets: readonly Target[];
  readonly servers: readonly SupervisedProcess[];
  /** Of a role that may read the tables. Resolves while PostgreSQL runs. */
  databaseUrl(): string;
  /** Ends every server in good order; returns the exit codes. */
  stop(): Promise<(number | NodeJS.Signals | null)[]>;
  /** Everything of this installation, whether in order or not. */
  dispose(): Promise<void>;
}

/** Lease times short enough that a lost run is noticed within a test, and slots for more than one kill to hit. */
export const SERVER_SETTINGS = {
  LANG: 'C.UTF-8',
  LOG_LEVEL: 'warn',
  LEASE_TTL: '10s',
  CANCEL_ESCALATION_DELAY: '1s',
  SHUTDOWN_GRACE: '5s',
  MAX_CONCURRENT_RUNS: '8',
  MAX_CONCURRENT_RUNS_PER_TEAM: '8',
  MAX_IDLE_SESSIONS: '3',
  API_RATE_PER_MINUTE: '0',
};

/** The directory of one installation; its path is how its processes are recognised. */
export class Home {
  readonly directory = mkdtempSync(join(tmpdir(), 'headrace-chaos-'));
  readonly dataDir = join(this.directory, 'data');
  /** In PATH, which reaches runners and agents too. */
  readonly searchPath = `${process.env.PATH ?? ''}:${join(this.directory, 'bin')}`;

  readonly runsOfKilledAgents = new Set<string>();

  constructor() {
    // As root, PostgreSQL and agents have their own users, who must pass.
    chmodSync(this.directory, 0o711);
    mkdirSync(this.dataDir, { mode: 0o711 });
  }

  /** Kills one process at random among those that match. */
  target(name: string, matches: typeof isRunner, pick: (count: number) => number): Target {
    return {
      name,
      kill: () => {
        const found = processesNaming(this.directory).filter(matches);
        const victim = found[pick(found.length)];
        return victim !== undefined && this.kill(victim);
      },
    };
  }

  runnerAndAgent(pick: (count: number) => number): Target[] {
    return [this.target('runner', isRunner, pick), this.target('agent', isAgent, pick)];
  }

  /** Everything that belongs to the installation, as a power failure does. */
  killAll(servers: readonly SupervisedProcess[], others: () => void = () => undefined): boolean {
    for (const server of servers) server.expectExit();
    others();
    // Twice: what was being started when the table was read.
    for (let pass = 0; pass < 2; pass += 1) for (const found of processesNaming(this.directory)) this.kill(found);
    return true;
  }

  private kill({ pid, runId }: FoundProcess): boolean {
    if (runId !== null) this.runsOfKilledAgents.add(runId);
    return killProcess(pid);
  }

  /** Processes of servers, runners and agents; stores that the test itself has started are left out. */
  serverProcesses(): string[] {
    return processesNaming(this.directory)
      .filter(({ argv }) => !STORE.test(argv[0] ?? ''))
      .map(({ pid, argv }) => `process ${pid}: ${argv.join(' ').slice(0, 200)}`);
  }

  /** By the ids of their executions. */
  workspaces(): string[] {
    const directory = join(this.dataDir, 'workspaces');
    return existsSync(directory) ? listWorkspaces(directory) : [];
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** One command of the command line to its end; its output. */
export async function headrace(environment: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [MAIN, ...args], { env: environment });
  return stdout.trim();
}

export const unexplainedExits = (servers: readonly SupervisedProcess[]): UnexplainedExit[] =>
  servers.flatMap(({ unexplained }) => unexplained);

/** A server of the build that is started again whenever it ends. */
export function serverProcess(
  name: string,
  command: string,
  environment: NodeJS.ProcessEnv,
  log: LogWatch,
): SupervisedProcess {
  return new SupervisedProcess({
    name,
    command: process.execPath,
    args: [MAIN, command],
    environment,
    ready: new RegExp(`Headrace (${command}|API) is ready`),
    onLine: (line) => log.read(name, line),
  });
}
