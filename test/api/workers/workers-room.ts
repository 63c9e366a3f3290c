import { SweepExecutions } from '#execution/executions';
import { startTestApi, type TestApi, type TestApiOptions, type TestPrincipal } from '#testing';
import type { Assignment } from '#execution/runner-protocol';
import { EXECUTION_ENV, type TaskAssignment } from '#execution/worker-protocol';
import { WorkerClient } from './worker-client.js';

/** An API with a team, its service account, and the words that tests about its workers are told in. */
export class WorkersRoom {
  private readonly clients: WorkerClient[] = [];
  private hosts = 0;

  private constructor(
    readonly api: TestApi,
    readonly team: string,
    readonly bot: TestPrincipal,
  ) {}

  static async open(options: TestApiOptions = {}): Promise<WorkersRoom> {
    const api = await startTestApi(options);
    // A clock that jumps is no outage of the API.
    await api.database.query(
      `INSERT INTO worker_reachability (since, alive_until) VALUES ('-infinity', 'infinity')
       ON CONFLICT (singleton) DO UPDATE SET since = excluded.since, alive_until = excluded.alive_until`,
    );
    const team = await api.identities.team();
    return new WorkersRoom(api, team, await api.identities.serviceAccount(team));
  }

  /** The same team on another instance. */
  static beside(other: WorkersRoom, api: TestApi): WorkersRoom {
    return new WorkersRoom(api, other.team, other.bot);
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.vanish()));
    await this.api.close();
  }

  /** A name that no test has used. */
  newHost(): string {
    this.hosts += 1;
    return `lab-${this.hosts}`;
  }

  /** A worker that speaks the published daemon's frames only. */
  async connect(host: string, token = this.bot.token): Promise<WorkerClient> {
    return this.kept(await WorkerClient.connect(this.api, token, host));
  }

  async greet(host: string, hello: Parameters<typeof WorkerClient.greet>[3], token = this.bot.token) {
    const { worker, answer } = await WorkerClient.greet(this.api, token, host, hello);
    return { worker: this.kept(worker), answer };
  }

  /** Returns the run's id. */
  async create(host: string, config: object = {}, prompt = 'Fix the failing test.'): Promise<string> {
    const { body } = await this.api.request(200, 'POST /agent/runs', {
      token: this.bot.token,
      body: { prompt, config: { worker_host: host, ...config } },
    });
    return body.run_id;
  }

  async run(runId: string) {
    return (await this.api.request(200, `GET /agent/runs/${runId}`, { token: this.bot.token })).body;
  }

  async timeline(runId: string): Promise<{ event_type: string; payload?: Record<string, unknown> }[]> {
    return (await this.api.request(200, `GET /agent/runs/${runId}/timeline`, { token: this.bot.token })).body.events;
  }

  /** Ends what went silent, as the processor does every few seconds. */
  sweep(): Promise<number> {
    return this.api.app.get(SweepExecutions, { strict: false }).execute();
  }

  async executions(runId: string) {
    return this.api.database.query<{ id: string; phase: string; end_reason: string | null; slot_held: boolean }>(
      'SELECT id, phase, end_reason, slot_held FROM executions WHERE run_id = $1 ORDER BY id',
      [runId],
    );
  }

  /** The runner that the worker starts for an assignment takes over. */
  async startRunner({ data }: TaskAssignment, instance = 'runner-1'): Promise<RunnerOfWorker> {
    const token = data.env_vars?.[EXECUTION_ENV.executionToken] ?? '';
    const { body } = await this.api.request(200, `POST /runner/v1/executions/${data.execution_id}/claim`, {
      token,
      body: { protocol_version: 1, instance_id: instance },
    });
    return new RunnerOfWorker(this.api, token, body as Assignment);
  }

  private kept(client: WorkerClient): WorkerClient {
    this.clients.push(client);
    return client;
  }
}

/** Reports what a test tells it to. */
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

  /** The run is in progress: its agent has begun with its prompt. */
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

  /** What the runner is told to do; null when there is nothing new since `version`. */
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
