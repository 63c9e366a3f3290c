import { vi } from 'vitest';
import type { RunningApp, Settings } from '#platform/config';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { startProcessor } from '#apps/processor/src/main';
import { ScriptedWorker, type WorkerConnection } from '../support/scripted-worker.js';
import { faultsOfReceived } from './golden-files.js';

/** The contract's 90 s and 15 s, in the small. */
export const SILENCE_MS = 2_400;
export const CLAIM_DEADLINE_MS = 1_500;

/** Passed by now, if anything was going to happen. */
export const settled = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

export interface SeenRun {
  readonly state: string;
  readonly status_message?: { message: string; error_code?: string; retryable?: boolean };
  readonly [field: string]: unknown;
}

/** A whole installation with two API processes' worth of applications over one database, and a team. */
export class InstallationWithWorkers {
  private readonly workers: ScriptedWorker[] = [];
  private nextName = 0;

  private constructor(
    /** Where runs are created and looked at. */
    readonly here: TestApi,
    /** Where workers connect, unless a test says otherwise; lets self-hosted runs be cancelled. */
    readonly there: TestApi,
    private readonly processor: RunningApp,
    readonly team: string,
    /** A service account of the team. */
    readonly bot: TestPrincipal,
  ) {}

  static async open(changes: Partial<Settings> = {}): Promise<InstallationWithWorkers> {
    const settings = {
      workerHeartbeatTimeout: SILENCE_MS,
      leaseTtl: SILENCE_MS,
      claimDeadline: CLAIM_DEADLINE_MS,
      workerReconnectTimeout: 0,
      ...changes,
    };
    const here = await startTestApi({ settings });
    const there = await startTestApi({ settings: { ...settings, selfHostedCancel: true }, database: here.database });
    const processor = await startProcessor({ ...here.settings, runnerApiUrl: here.url });
    const team = await here.identities.team();
    return new InstallationWithWorkers(here, there, processor, team, await here.identities.serviceAccount(team));
  }

  /** A name that no other test uses. */
  host(): string {
    this.nextName += 1;
    return `host-${this.nextName}`;
  }

  async worker(name: string, connection: Partial<WorkerConnection> = {}): Promise<ScriptedWorker> {
    const worker = await ScriptedWorker.connect({
      url: this.there.url,
      token: this.bot.token,
      pingEveryMs: SILENCE_MS / 3,
      ...connection,
      name,
    });
    this.workers.push(worker);
    return worker;
  }

  async run(workerHost: string, config: object = {}, prompt = 'Fix the build.'): Promise<string> {
    const { body } = await this.here.request(200, 'POST /agent/runs', {
      token: this.bot.token,
      body: { prompt, title: 'Fix it', config: { worker_host: workerHost, ...config } },
    });
    return body.run_id as string;
  }

  async look(runId: string): Promise<SeenRun> {
    return (await this.here.request(200, `GET /agent/runs/${runId}`, { token: this.bot.token })).body as SeenRun;
  }

  /** Resolves with the run once it is in the state. */
  async reaches(runId: string, state: string, timeout = 12_000): Promise<SeenRun> {
    return vi.waitFor(
      async () => {
        const run = await this.look(runId);
        if (run.state !== state)
          throw new Error(`Run ${runId} is ${run.state} and not ${state}: ${JSON.stringify(run.status_message)}`);
        return run;
      },
      { timeout, interval: 40 },
    );
  }

  /** What the API lists as connected; `at`: which of the two is asked. */
  async connected(at: TestApi = this.here, token = this.bot.token): Promise<Record<string, number>> {
    const { body } = await at.request(200, 'GET /agent/connected-self-hosted-workers', { token });
    const workers = body.workers as { worker_host: string; connection_count: number }[];
    return Object.fromEntries(workers.map((worker) => [worker.worker_host, worker.connection_count]));
  }

  /** Ends every worker of the test that just ended. Returns what they received against the contract. */
  async endOfTest(): Promise<string[]> {
    const workers = this.workers.splice(0);
    await Promise.all(workers.map((worker) => worker.cut()));
    return workers.flatMap(({ received }) => faultsOfReceived(received));
  }

  async close(): Promise<void> {
    await this.endOfTest();
    await this.processor.close();
    await this.there.close();
    await this.here.close();
  }
}
