import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from '#testing';
import { TestIdentities } from '../../libs/testing/src/api/identities.js';
import { FactoryBuilder } from '../../libs/testing/src/factory-builder.js';
import { PLACES, startDaemonIn } from '../support/executor-places.js';
import { descendants, Installation, processes, type Program, runnersOf } from '../support/installation.js';
import { type DaemonPlace, daemonPlace, journalOf, killRemains, removePlace } from '../worker/daemon-process.js';

export type Victim = 'server' | 'api' | 'ingress' | 'processor' | 'worker' | 'runner' | 'agent' | 'postgres';

/** An installation whose processes can be killed. */
export abstract class CrashSetup {
  abstract readonly installation: Installation;
  /** Of the runs, which are executed on what can be killed. */
  abstract readonly config: object;

  /** With SIGKILL, before this returns. */
  kill(victim: Victim): void {
    for (const pid of this.pidsOf(victim)) process.kill(pid, 'SIGKILL');
  }
  /** Starts again what nothing else starts. */
  abstract restart(victim: Victim): Promise<void>;
  abstract close(): Promise<void>;

  protected abstract pidsOf(victim: Victim): number[];
}

const agentsOf = (runners: readonly number[]): number[] =>
  runners.flatMap((pid) => descendants(pid).map((one) => one.pid));
const runnerPids = ({ child }: Program): number[] => runnersOf(child.pid ?? 0).map(({ pid }) => pid);

/** Tests poll what has no signal. */
const SETTINGS = { API_RATE_PER_MINUTE: '0' };

/** `headrace up`, which starts PostgreSQL again. */
class OneServer extends CrashSetup {
  readonly config = {};

  private constructor(
    readonly installation: Installation,
    private server: Program,
  ) {
    super();
  }

  static async open(settings: Record<string, string>): Promise<OneServer> {
    const installation = await Installation.create({ ...SETTINGS, ...settings });
    return new OneServer(installation, await installation.up());
  }

  async restart(victim: Victim): Promise<void> {
    if (victim !== 'server') return;
    await this.server.exited;
    this.server = await this.installation.up();
  }

  async close(): Promise<void> {
    const code = await this.server.stop('SIGTERM');
    this.installation.remove();
    if (code !== 0) throw new Error(`headrace up ended with ${code}:\n${this.server.text}`);
  }

  protected pidsOf(victim: Victim): number[] {
    switch (victim) {
      case 'server':
        return [this.server.child.pid ?? 0];
      case 'runner':
        return runnerPids(this.server);
      case 'agent':
        return agentsOf(runnerPids(this.server));
      case 'postgres':
        return processes()
          .filter(({ argv: [program = '', ...args] }) => program.endsWith('/postgres') && this.isOwn(args))
          .map(({ pid }) => pid)
          .slice(0, 1);
      default:
        throw new Error(`${victim} is no process of one server.`);
    }
  }

  private isOwn(args: readonly string[]): boolean {
    return args.some((part) => part.includes(this.installation.dataDir));
  }
}

const WORKER = 'crash-host';
const SERVERS = ['api', 'ingress', 'processor'] as const;
type Started = (typeof SERVERS)[number] | 'worker';

/** API, ingress and processor are processes; runs are executed by `headrace worker`. */
class SeparateProcesses extends CrashSetup {
  readonly config = { worker_host: WORKER };
  private readonly programs = new Map<Started, Program>();

  private constructor(
    readonly installation: Installation,
    private readonly database: TestDatabase,
    private readonly files: DaemonPlace,
  ) {
    super();
  }

  static async open(settings: Record<string, string>): Promise<SeparateProcesses> {
    const database = await createTestDatabase();
    const identities = new TestIdentities(database);
    const team = await identities.team();
    const { token } = await identities.user({ [team]: 'admin' });
    const files = daemonPlace((await identities.serviceAccount(team)).token);
    const installation = await Installation.create({
      ...SETTINGS,
      ...settings,
      DATABASE_URL: database.url,
    });
    const factory = await new FactoryBuilder(database).build({ teamUid: team });
    const setup = new SeparateProcesses(installation, database, files);
    await Promise.all(SERVERS.map((name) => setup.restart(name)));
    await setup.restart('worker');
    // As `headrace up` does.
    const connection = { token, team_uid: team, factory_uid: factory };
    writeFileSync(join(installation.dataDir, 'connection.json'), JSON.stringify(connection));
    return setup;
  }

  async restart(victim: Victim): Promise<void> {
    if (victim === 'worker') {
      await this.programs.get(victim)?.exited;
      const port = this.installation.environment.PORT ?? '';
      this.programs.set(victim, await startDaemonIn(PLACES.process(), this.files, { port, workerId: WORKER }));
    } else if (victim === 'api' || victim === 'ingress' || victim === 'processor') {
      await this.programs.get(victim)?.exited;
      const program = this.installation.start(victim);
      await program.says(`${victim === 'api' ? 'API' : victim} is ready`);
      this.programs.set(victim, program);
    }
  }

  async close(): Promise<void> {
    const entries = journalOf(this.files);
    await this.programs.get('worker')?.stop('SIGKILL');
    for (const name of SERVERS) await this.programs.get(name)?.stop('SIGTERM');
    killRemains(entries);
    await this.database.close();
    this.installation.remove();
    removePlace(this.files);
  }

  protected pidsOf(victim: Victim): number[] {
    const worker = this.program('worker');
    switch (victim) {
      case 'runner':
        return runnerPids(worker);
      case 'agent':
        return agentsOf(runnerPids(worker));
      case 'api':
      case 'ingress':
      case 'processor':
      case 'worker':
        return [this.program(victim).child.pid ?? 0];
      default:
        throw new Error(`${victim} is not killed here.`);
    }
  }

  private program(name: Started): Program {
    const program = this.programs.get(name);
    if (!program) throw new Error(`${name} was not started.`);
    return program;
  }
}

export const CRASH_SETUPS = {
  'one server': (settings: Record<string, string>): Promise<CrashSetup> => OneServer.open(settings),
  'separate processes': (settings: Record<string, string>): Promise<CrashSetup> => SeparateProcesses.open(settings),
} as const;
