import { expect } from 'vitest';
import { createTestDatabase, type TestDatabase } from '#testing';
import { type DaemonPlace, daemonPlace, journalOf, killRemains, removePlace } from '../worker/daemon-process.js';
import { type Place, startDaemonIn, workspacesIn } from './executor-places.js';
import { freePort, Installation, type Program } from './installation.js';

export type HostName = 'processor' | 'worker';

/** An installation, and the process that starts the runners of its executions. */
export interface ExecutorHost {
  readonly installation: Installation;
  /** The config of a run that this host executes. */
  readonly runConfig: object;
  runnerPids(): readonly number[];
  leftovers(): readonly string[];
  /** Cancels a run whose agent works. */
  cancel(runId: string): Promise<void>;
  /** Closes the sessions that wait for follow-ups. */
  closeIdleSessions(): Promise<void>;
  /** Ends with the exit code 0. `untilAgentWorks` resolves when the agent has worked after its call. */
  stop(untilAgentWorks: () => Promise<void>): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** What the specification demands of one host only. */
export interface HostDescription {
  /**
   * CLAIM_DEADLINE of an offer that waits for the claim of its runner. Null: a daemon claims an offer before it starts the
   * runner, so that a suspended runner keeps no offer waiting.
   */
  readonly claimDeadlineMs: number | null;
  /** An execution whose agent has not started is repeated. A daemon reports the end of its runner, which is final. */
  readonly repeatsUnstarted: boolean;
  open(place: Place): Promise<ExecutorHost>;
}

const CLAIM_DEADLINE_MS = 1000;
const WORKER = 'kit-host';
const SLOTS = { MAX_CONCURRENT_RUNS: '2', MAX_CONCURRENT_RUNS_PER_TEAM: '2' };

class ProcessorHost implements ExecutorHost {
  readonly runConfig = {};

  private constructor(
    private readonly place: Place,
    readonly installation: Installation,
    private server: Program,
  ) {}

  static async open(place: Place): Promise<ProcessorHost> {
    await place.open();
    const port = String(await freePort());
    const installation = await Installation.create({
      ...SLOTS,
      PORT: port,
      MAX_IDLE_SESSIONS: '0',
      CLAIM_DEADLINE: `${CLAIM_DEADLINE_MS}ms`,
      ...place.settings(port),
    });
    return new ProcessorHost(place, installation, await installation.up());
  }

  runnerPids(): readonly number[] {
    return this.place.runnerPids(this.server);
  }

  leftovers(): readonly string[] {
    return this.place.leftovers(workspacesIn(this.installation.dataDir));
  }

  async cancel(runId: string): Promise<void> {
    expect((await this.installation.call('POST', `/agent/runs/${runId}/cancel`)).status).toBe(200);
  }

  /** There are none with MAX_IDLE_SESSIONS=0. */
  closeIdleSessions(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.server.stopCleanly('SIGTERM');
  }

  async start(): Promise<void> {
    this.server = await this.installation.up();
  }

  async close(): Promise<void> {
    await this.server.stop('SIGTERM');
    await this.place.close();
    this.installation.remove();
  }
}

class WorkerHost implements ExecutorHost {
  readonly runConfig = { worker_host: WORKER };

  private constructor(
    private readonly place: Place,
    readonly installation: Installation,
    private readonly port: string,
    private readonly database: TestDatabase,
    private readonly server: Program,
    private readonly files: DaemonPlace,
    private daemon: Program,
  ) {}

  static async open(place: Place): Promise<WorkerHost> {
    await place.open();
    const port = String(await freePort());
    // Not that of `headrace up`, because a second API process uses it too.
    const database = await createTestDatabase();
    const installation = await Installation.create({
      ...SLOTS,
      PORT: port,
      // No lease expires during a test, so that the daemon has reported every end.
      LEASE_TTL: '60s',
      DATABASE_URL: database.url,
    });
    const server = await installation.up();
    const files = daemonPlace(installation.connection.service_account_token);
    const daemon = await startDaemonIn(place, files, { port, workerId: WORKER });
    return new WorkerHost(place, installation, port, database, server, files, daemon);
  }

  runnerPids(): readonly number[] {
    return this.place.runnerPids(this.daemon);
  }

  leftovers(): readonly string[] {
    return this.place.leftovers(workspacesIn(this.files.directory));
  }

  /** Only an API with SELF_HOSTED_CANCEL cancels the run of a self-hosted worker. */
  async cancel(runId: string): Promise<void> {
    expect(await this.installation.call('POST', `/agent/runs/${runId}/cancel`)).toMatchObject({
      status: 422,
      body: { type: expect.stringContaining('operation_not_supported') },
    });
    const port = String(await freePort());
    const api = this.installation.start('api', { PORT: port, SELF_HOSTED_CANCEL: 'true' });
    await api.says('Headrace API is ready');
    const { status } = await fetch(`http://127.0.0.1:${port}/api/v1/agent/runs/${runId}/cancel`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.installation.connection.token}` },
    });
    expect(status).toBe(200);
    await api.stopCleanly('SIGTERM');
  }

  /** A daemon that drains closes them. */
  async closeIdleSessions(): Promise<void> {
    this.daemon.child.kill('SIGTERM');
    await this.expectEnd();
    expect(this.leftovers()).toEqual([]);
    await this.start();
  }

  /** The first signal lets running agents continue, and the second ends them. */
  async stop(untilAgentWorks: () => Promise<void>): Promise<void> {
    this.daemon.child.kill('SIGTERM');
    await this.daemon.says('"msg":"draining"');
    await untilAgentWorks();
    expect(this.daemon.child.exitCode).toBeNull();
    this.daemon.child.kill('SIGTERM');
    await this.expectEnd();
  }

  async start(): Promise<void> {
    this.daemon = await startDaemonIn(this.place, this.files, { port: this.port, workerId: WORKER });
  }

  async close(): Promise<void> {
    const entries = journalOf(this.files);
    await this.daemon.stop('SIGKILL');
    killRemains(entries);
    await this.server.stop('SIGTERM');
    await this.place.close();
    await this.database.close();
    this.installation.remove();
    removePlace(this.files);
  }

  private async expectEnd(): Promise<void> {
    await this.daemon.says('"msg":"worker ends","exit_code":0');
    expect(await this.daemon.exited).toBe(0);
  }
}

export const HOSTS: Readonly<Record<HostName, HostDescription>> = {
  processor: { claimDeadlineMs: CLAIM_DEADLINE_MS, repeatsUnstarted: true, open: (place) => ProcessorHost.open(place) },
  worker: { claimDeadlineMs: null, repeatsUnstarted: false, open: (place) => WorkerHost.open(place) },
};
