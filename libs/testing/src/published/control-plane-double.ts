import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type {
  Assignment,
  Commands,
  Desired,
  FinishRequest,
  InterruptOrder,
  RunnerEvent,
  RunnerEventKind,
} from '#execution/runner-protocol';

export interface SeenRequest {
  readonly call: string;
  readonly query: URLSearchParams;
  readonly authorization: string | undefined;
  readonly body: Buffer;
  readonly status: number;
}

const DEFAULTS: Omit<Assignment, 'execution_id'> = {
  run_id: '01900000-0000-7000-8000-000000000001',
  lease_epoch: 7,
  ttl_seconds: 30,
  next_beat_seconds: 10,
  prompt: 'Hello',
  base_prompt: null,
  mode: 'normal',
  interactive: false,
  harness: { type: 'oz' },
  permission_policy: 'allow',
  permission_allow_list: [],
  environment: null,
  repositories: [],
  secrets: {},
  mcp_servers: {},
  resume: null,
  attachments: [],
};

/** A control plane of one execution at a time over real HTTP: records requests, returns what the test configures, fails on demand. */
export class ControlPlaneDouble {
  readonly requests: SeenRequest[] = [];
  readonly uploads: { format: string | null; sessionId: string | null; bytes: Buffer }[] = [];
  readonly token = `hrx_1_${'s'.repeat(43)}`;
  /** Uploads: the reference, or the query with the content; with the number of events stored by then. */
  readonly artifacts: { reported: Record<string, unknown>; content?: Buffer; afterEvents: number }[] = [];
  /** The execution that was claimed last. */
  executionId = '1';
  finished: FinishRequest | null = null;
  storedTranscript: Buffer | null = null;
  /** By attachment id. */
  readonly storedAttachments = new Map<string, Buffer>();
  /** Responses to further calls (`POST /runs`), by the call; each gets the body of the request. */
  readonly responses = new Map<string, (body: Record<string, unknown>) => unknown>();
  /** Problem documents that reject requests to a call, by the call; null: accepted. Each gets the body of the request. */
  readonly rejections = new Map<string, (body: Record<string, unknown>) => object | null>();
  private readonly stored: RunnerEvent[] = [];
  private desired: Desired = 'run';
  private prompts: Commands['prompts'] = [];
  private decisions: Commands['decisions'] = [];
  private order: InterruptOrder | undefined;
  private version = 1;
  private polledVersion = 0;
  private held: {
    readonly kind: RunnerEventKind;
    readonly released: Promise<void>;
    readonly release: () => void;
  } | null = null;
  private silent = false;
  private failures: { call: string; status: number; times: number }[] = [];
  private readonly pollers = new Set<() => void>();
  private readonly watchers = new Set<() => void>();

  private constructor(
    private readonly server: Server,
    readonly assignment: Assignment,
  ) {}

  static async start(assignment: Partial<Assignment> = {}, host = '127.0.0.1'): Promise<ControlPlaneDouble> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    const double = new ControlPlaneDouble(server, { ...DEFAULTS, execution_id: '1', ...assignment });
    server.on('request', (request, response) => void double.answer(request, response));
    return double;
  }

  get baseUrl(): string {
    const { address, port } = this.server.address() as AddressInfo;
    return `http://${address}:${port}/api/v1`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** The stored events in order, of one kind when it is given. */
  events(kind?: RunnerEventKind): RunnerEvent[] {
    return this.stored.filter((event) => kind === undefined || event.kind === kind);
  }

  /** The data of the stored events of a kind. */
  data<T = Record<string, unknown>>(kind: RunnerEventKind): T[] {
    return this.events(kind).map((event) => event.data as T);
  }

  /** All text that the agent has said. */
  get said(): string {
    return this.data<{ text: string }>('message_chunk')
      .map(({ text }) => text)
      .join('');
  }

  /** Each tool call with all its updates applied. */
  calls(): Record<string, unknown>[] {
    const calls = new Map<unknown, Record<string, unknown>>();
    for (const data of this.data('tool_call'))
      calls.set(data['tool_call_id'], { ...calls.get(data['tool_call_id']), ...data });
    return [...calls.values()];
  }

  want(desired: Desired): void {
    this.desired = desired;
    this.changed();
  }

  /** The same id again replaces what was said: as when a message for the run becomes one for a debug agent. */
  say(
    followupId: string,
    message: string,
    fields: Pick<Commands['prompts'][number], 'debug' | 'attachments'> = {},
  ): void {
    const others = this.prompts.filter(({ followup_id: id }) => id !== followupId);
    this.prompts = [...others, { followup_id: followupId, message, ...fields }];
    this.changed();
  }

  decide(approvalId: string, decision: 'allow' | 'deny', note?: string, always?: true): void {
    const rest = { ...(note === undefined ? {} : { note }), ...(always === undefined ? {} : { always }) };
    this.decisions = [...this.decisions, { approval_id: approvalId, decision, ...rest }];
    this.changed();
  }

  answerQuestion(approvalId: string, answer: Commands['decisions'][number]['answer']): void {
    const answeredBy = { type: 'user', name: 'Mia Member' };
    this.decisions = [
      ...this.decisions,
      { approval_id: approvalId, decision: 'answer', ...(answer && { answer }), answered_by: answeredBy },
    ];
    this.changed();
  }

  /** Repeated in every response from now on, as by the control plane. `decisions`: made with the interrupt. */
  interrupt(turnId: string, timeoutSeconds = 30, decisions: Commands['decisions'] = []): void {
    this.order = { turn_id: turnId, timeout_seconds: timeoutSeconds };
    this.decisions = [...this.decisions, ...decisions];
    this.changed();
  }

  /** The runner has handled all commands so far: it asks for newer ones. */
  untilCommandsRead(): Promise<void> {
    return this.until(() => this.polledVersion >= this.version, 'the runner has read its commands');
  }

  /** Events of this kind are stored, and acknowledged after `releaseAcknowledgement`. */
  holdAcknowledgementOf(kind: RunnerEventKind): void {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    this.held = { kind, released, release };
  }

  releaseAcknowledgement(): void {
    this.held?.release();
    this.held = null;
  }

  /** The next `times` requests to the call (`POST /events`) are answered with the status. */
  fail(call: string, status: number, times = 1): void {
    this.failures.push({ call, status, times });
  }

  /** From now on no request gets an answer. */
  goSilent(): void {
    this.silent = true;
  }

  /** Resolves when the condition holds; looked at whenever a request has been dealt with. */
  async until(condition: () => boolean, what: string, ms = 60_000): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if (!condition()) return;
        this.watchers.delete(look);
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.watchers.delete(look);
        reject(
          new Error(
            `Timed out after ${ms} ms waiting until ${what}. Events: ${this.stored.map(({ kind }) => kind).join(' ')}`,
          ),
        );
      }, ms);
      this.watchers.add(look);
    });
  }

  untilEvent(kind: RunnerEventKind, count = 1): Promise<void> {
    return this.until(() => this.events(kind).length >= count, `${count} × ${kind}`);
  }

  private changed(): void {
    this.version += 1;
    for (const wake of [...this.pollers]) wake();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    if (this.silent) return;
    const url = new URL(request.url ?? '/', this.baseUrl);
    const [, executionId = '', path = ''] = /^\/api\/v1\/runner\/v1\/executions\/(\d+)(.*)$/.exec(url.pathname) ?? [];
    const call = `${request.method} ${path}`;
    const failure = this.failures.find((entry) => entry.call === call && entry.times > 0);
    if (failure) failure.times -= 1;
    const [status, answer] = failure
      ? [failure.status, null]
      : await this.handle(call, executionId, url.searchParams, body);
    this.requests.push({ call, query: url.searchParams, authorization: request.headers.authorization, body, status });
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(Buffer.isBuffer(answer) ? answer : answer === null ? undefined : JSON.stringify(answer));
    for (const look of [...this.watchers]) look();
  }

  private async handle(
    call: string,
    executionId: string,
    query: URLSearchParams,
    body: Buffer,
  ): Promise<[number, unknown]> {
    const attachment = /^GET \/attachments\/(.*)$/.exec(call)?.[1];
    if (attachment !== undefined) {
      const bytes = this.storedAttachments.get(attachment);
      return bytes ? [200, bytes] : [404, null];
    }
    const rejection = this.rejections.get(call)?.(JSON.parse(body.toString())) ?? null;
    if (rejection !== null) return [400, rejection];
    switch (call) {
      case 'POST /claim':
        this.begin(executionId);
        return [200, this.assignment];
      case 'POST /events':
        return [200, await this.storeEvents(JSON.parse(body.toString()).events)];
      case 'POST /beat':
        return [
          200,
          {
            ttl_seconds: this.assignment.ttl_seconds,
            next_beat_seconds: this.assignment.next_beat_seconds,
            desired: this.desired,
          },
        ];
      case 'GET /commands':
        return this.poll(Number(query.get('version')), Number(query.get('wait')));
      case 'GET /transcript':
        return this.storedTranscript ? [200, this.storedTranscript] : [404, null];
      case 'PUT /transcript':
        this.uploads.push({ format: query.get('format'), sessionId: query.get('session_id'), bytes: body });
        return [204, null];
      case 'PUT /artifacts':
        this.artifacts.push({ reported: Object.fromEntries(query), content: body, afterEvents: this.stored.length });
        return [200, { artifact_uid: 'a'.repeat(22) }];
      case 'POST /artifacts':
        this.artifacts.push({ reported: JSON.parse(body.toString()), afterEvents: this.stored.length });
        return [200, { artifact_uid: 'a'.repeat(22) }];
      case 'POST /finish':
        this.finished = JSON.parse(body.toString()) as FinishRequest;
        return [200, {}];
      default: {
        const respond = this.responses.get(call);
        return respond ? [200, await respond(body.length === 0 ? {} : JSON.parse(body.toString()))] : [404, null];
      }
    }
  }

  /** A claim of another execution follows the end of the one before, as with a runner that is used again. */
  private begin(executionId: string): void {
    if (executionId === this.executionId) return;
    this.executionId = executionId;
    this.stored.splice(0);
    this.finished = null;
    this.desired = 'run';
  }

  private async storeEvents(events: RunnerEvent[]): Promise<{ acked_seq: number; desired: Desired }> {
    const acknowledgement = this.store(events);
    const { held } = this;
    if (held && events.some(({ kind }) => kind === held.kind)) {
      for (const look of [...this.watchers]) look();
      await held.released;
    }
    return acknowledgement;
  }

  private store(events: RunnerEvent[]): { acked_seq: number; desired: Desired } {
    for (const event of events) if (event.source_seq === this.stored.length + 1) this.stored.push(event);
    return { acked_seq: this.stored.length, desired: this.desired };
  }

  private async poll(version: number, waitSeconds: number): Promise<[number, unknown]> {
    this.polledVersion = Math.max(this.polledVersion, version);
    for (const look of [...this.watchers]) look();
    if (version >= this.version) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.pollers.delete(wake);
          clearTimeout(timer);
          resolve();
        };
        const timer = setTimeout(wake, waitSeconds * 1000);
        this.pollers.add(wake);
      });
    }
    if (version >= this.version) return [204, null];
    const { version: current, desired, prompts, decisions, order } = this;
    const interrupt = order && { interrupt: order };
    return [200, { version: current, desired, prompts, decisions, ...interrupt } satisfies Commands];
  }
}
