import { SweepExecutions } from '#execution/executions';
import type { TestApi } from '#testing';
import type { Assignment } from '#execution/runner-protocol';
import { EXECUTION_ENV, type TaskAssignment } from '#execution/worker-protocol';
import type { ApiFixture } from '../../support/api-fixture.js';
import { WorkerClient } from './worker-client.js';

/** Workers of a fixture's team, and the runs that are created for them. */
export class ConnectedWorkers {
  private readonly clients: WorkerClient[] = [];
  private hosts = 0;

  constructor(private readonly fixture: ApiFixture) {}

  static async start(fixture: ApiFixture): Promise<ConnectedWorkers> {
    // Without this row, a test that moves the clock looks like an outage of the API, during which no worker is silent.
    await fixture.database.query(
      `INSERT INTO worker_reachability (since, alive_until) VALUES ('-infinity', 'infinity')
       ON CONFLICT (singleton) DO UPDATE SET since = excluded.since, alive_until = excluded.alive_until`,
    );
    return new ConnectedWorkers(fixture);
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.vanish()));
    await this.fixture.close();
  }

  /** A name that no test has used. */
  newHost(): string {
    this.hosts += 1;
    return `lab-${this.hosts}`;
  }

  /** A worker that speaks the published daemon's frames only. */
  async connect(host: string, token = this.fixture.bot.token): Promise<WorkerClient> {
    return this.kept(await WorkerClient.connect(this.fixture.api, token, host));
  }

  async connectWithHello(
    host: string,
    hello: Parameters<typeof WorkerClient.connectWithHello>[3],
    token = this.fixture.bot.token,
  ) {
    const { worker, answer } = await WorkerClient.connectWithHello(this.fixture.api, token, host, hello);
    return { worker: this.kept(worker), answer };
  }

  /** Creates a run for the worker. Returns its id. */
  createRun(host: string, config: object = {}, prompt?: string): Promise<string> {
    const fields = { config: { worker_host: host, ...config }, ...(prompt !== undefined && { prompt }) };
    return this.fixture.createRun(fields, this.fixture.bot);
  }

  getRun(runId: string) {
    return this.fixture.getRun(runId, this.fixture.bot);
  }

  async getTimeline(runId: string): Promise<{ event_type: string; payload?: Record<string, unknown> }[]> {
    return (await this.fixture.requestAs(this.fixture.bot, 200, `GET /agent/runs/${runId}/timeline`)).events;
  }

  /** Ends the executions whose worker is silent, as the processor does every few seconds. */
  sweep(): Promise<number> {
    return this.fixture.api.app.get(SweepExecutions, { strict: false }).execute();
  }

  async executions(runId: string) {
    return this.fixture.database.query<{ id: string; phase: string; end_reason: string | null; slot_held: boolean }>(
      'SELECT id, phase, end_reason, slot_held FROM executions WHERE run_id = $1 ORDER BY id',
      [runId],
    );
  }

  /** Claims the execution of an assignment, as the runner that the worker starts does. */
  async startRunner({ data }: TaskAssignment, instance = 'runner-1'): Promise<RunnerOfWorker> {
    const token = data.env_vars?.[EXECUTION_ENV.executionToken] ?? '';
    const { body } = await this.fixture.request(200, `POST /runner/v1/executions/${data.execution_id}/claim`, {
      token,
      body: { protocol_version: 1, instance_id: instance },
    });
    return new RunnerOfWorker(this.fixture.api, token, body as Assignment);
  }

  private kept(client: WorkerClient): WorkerClient {
    this.clients.push(client);
    return client;
  }
}

/** A runner that reports the events that a test passes to it. */
export class RunnerOfWorker {
  private sent = 0;

  constructor(
    private readonly api: TestApi,
    private readonly token: string,
    readonly assignment: Assignment,
  ) {}

  report(...events: readonly (readonly [string, object?])[]) {
    const numbered = events.map(([kind, data = {}]) => ({ source_seq: (this.sent += 1), kind, data }));
    return this.call(200, 'POST events', { events: numbered });
  }

  /** Sets the run in progress: the agent has started with its prompt. */
  begin(turnId = 't1', followup: object = {}) {
    return this.report(
      ['session_started', { session_id: `session-${this.assignment.execution_id}`, resumed: false }],
      ['agent_started', { harness: 'oz' }],
      ['turn_started', { turn_id: turnId, prompt: 'go', ...followup }],
    );
  }

  endTurn(turnId = 't1') {
    return this.report(['turn_ended', { turn_id: turnId, stop_reason: 'end_turn' }]);
  }

  finish(outcome: string) {
    return this.call(200, 'POST finish', { outcome });
  }

  call(status: number, line: string, body: object = {}) {
    const [method = '', path = ''] = line.split(' ');
    return this.api.request(status, `${method} /runner/v1/executions/${this.assignment.execution_id}/${path}`, {
      token: this.token,
      body: { lease_epoch: this.assignment.lease_epoch, ...body },
    });
  }

  /** The commands for the runner; null when nothing has changed since `version`. */
  async commands(version: number) {
    const { execution_id: id, lease_epoch: epoch } = this.assignment;
    const { body } = await this.api.request(
      200,
      `GET /runner/v1/executions/${id}/commands?lease_epoch=${epoch}&version=${version}&wait=5`,
      { token: this.token },
    );
    return body;
  }
}
