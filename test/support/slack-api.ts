import type { ActionsBlock, Button, ContextBlock, KnownBlock, SectionBlock } from '@slack/types';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

type Json = Record<string, unknown>;

export interface SlackMessage {
  readonly channel: string;
  readonly ts: string;
  readonly thread_ts?: string;
  text: string;
  blocks: KnownBlock[];
  metadata?: { readonly event_type: string; readonly event_payload: Json };
}

/** Required parameters, and the scope, of https://docs.slack.dev/reference/methods */
const METHODS: Readonly<Record<string, readonly string[]>> = {
  'chat.postMessage': ['channel'],
  'chat.update': ['channel', 'ts'],
  'reactions.add': ['channel', 'name', 'timestamp'],
  'conversations.replies': ['channel', 'ts'],
  'auth.test': [],
};
const PAGE_SIZE = 2;

/** The methods of Slack's Web API that write into threads, on a loopback port. {@link violations}: requests that Slack would reject. */
export class SlackApiDouble {
  readonly messages: SlackMessage[] = [];
  /** `1355517523.000005 eyes`, in the order in which they were added. */
  readonly reactions: string[] = [];
  readonly requests: string[] = [];
  readonly violations: string[] = [];
  /** Responses to clicks. */
  readonly responses: Json[] = [];
  /** How often a message was posted or edited. */
  writes = 0;
  /** Answers the next request of this method instead. */
  next: {
    readonly method: string;
    readonly status: number;
    readonly body: unknown;
    readonly headers?: Record<string, string>;
  } | null = null;
  /** Called when a request with this method, and text that matches, has had its effect; it gets no response. Once. */
  interrupt: { readonly method: string; readonly text: RegExp; readonly call: () => void } | null = null;
  private lastTs = 0;

  private constructor(
    private readonly server: Server,
    /** The one that is accepted. */
    public token: string,
    /** The ids of channels that the app is in. */
    private readonly channels: readonly string[],
  ) {}

  static async start(token: string, channels: readonly string[]): Promise<SlackApiDouble> {
    const server = createServer((request, response) => void double.handle(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const double = new SlackApiDouble(server, token, channels);
    return double;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/api`;
  }

  /** For a click; Slack creates one for each. */
  get responseUrl(): string {
    return this.url.replace(/api$/, 'actions/T061EG9R6/1/a');
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const path = request.url ?? '';
    if (path.startsWith('/actions/')) {
      this.responses.push(JSON.parse(body) as Json);
      response.end('ok');
      return;
    }
    const method = path.replace('/api/', '');
    this.requests.push(method);
    const answered = this.next?.method === method ? this.next : null;
    if (answered) this.next = null;
    const input = Object.fromEntries(new URLSearchParams(body));
    const authorization = request.headers.authorization ?? '';
    const {
      status,
      body: answer,
      headers,
    } = answered ?? { status: 200, body: this.respond(method, input, authorization), headers: {} };
    const { interrupt } = this;
    if (interrupt?.method === method && interrupt.text.test(JSON.stringify(input))) {
      this.interrupt = null;
      interrupt.call();
      response.destroy();
      return;
    }
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(answer));
  }

  private respond(method: string, input: Readonly<Record<string, string>>, authorization: string): Json {
    const required = METHODS[method];
    if (!required) return failed('unknown_method');
    if (authorization !== `Bearer ${this.token}`) return failed('invalid_auth');
    const missing = required.find((name) => (input[name] ?? '') === '');
    if (missing !== undefined) return failed('invalid_arguments');
    if (method === 'auth.test') return { ok: true, team_id: 'T061EG9R6', user_id: 'U0LAN0Z89' };
    if (!this.channels.includes(input['channel'] ?? '')) return failed('channel_not_found');
    switch (method) {
      case 'chat.postMessage':
        return this.post(input);
      case 'chat.update':
        return this.update(input);
      case 'reactions.add':
        return this.react(input);
      default:
        return this.replies(input);
    }
  }

  private post(input: Readonly<Record<string, string>>): Json {
    const message = this.read(input);
    this.lastTs += 1;
    const posted = {
      ...message,
      channel: input['channel'] ?? '',
      ts: `1999999999.${String(this.lastTs).padStart(6, '0')}`,
      ...(input['thread_ts'] !== undefined && { thread_ts: input['thread_ts'] }),
    };
    this.messages.push(posted);
    this.writes += 1;
    return { ok: true, channel: posted.channel, ts: posted.ts, message: posted };
  }

  private update(input: Readonly<Record<string, string>>): Json {
    const known = this.messages.find(({ ts }) => ts === input['ts']);
    if (!known) return failed('message_not_found');
    Object.assign(known, this.read(input));
    this.writes += 1;
    return { ok: true, channel: known.channel, ts: known.ts, text: known.text };
  }

  private react({ name, timestamp }: Readonly<Record<string, string>>): Json {
    const reaction = `${timestamp} ${name}`;
    if (this.reactions.includes(reaction)) return failed('already_reacted');
    this.reactions.push(reaction);
    return { ok: true };
  }

  private replies(input: Readonly<Record<string, string>>): Json {
    const thread = this.messages.filter(
      ({ thread_ts: ts, channel }) => ts === input['ts'] && channel === input['channel'],
    );
    const start = Number(input['cursor'] ?? 0);
    const page = thread.slice(start, start + PAGE_SIZE).map(({ metadata, ...message }) => ({
      ...message,
      ...(input['include_all_metadata'] === 'true' && { metadata }),
    }));
    const hasMore = thread.length > start + PAGE_SIZE;
    return {
      ok: true,
      messages: page,
      has_more: hasMore,
      response_metadata: { next_cursor: hasMore ? String(start + PAGE_SIZE) : '' },
    };
  }

  private read(input: Readonly<Record<string, string>>): Pick<SlackMessage, 'text' | 'blocks' | 'metadata'> {
    const blocks = JSON.parse(input['blocks'] ?? '[]') as KnownBlock[];
    const metadata = JSON.parse(input['metadata'] ?? 'null') as SlackMessage['metadata'] | null;
    this.violations.push(...violationsOf(input['text'] ?? '', blocks));
    return { text: input['text'] ?? '', blocks, ...(metadata && { metadata }) };
  }
}

const failed = (error: string): Json => ({ ok: false, error });

/** The limits of https://docs.slack.dev/reference/block-kit/blocks and …/block-elements/button-element */
export function violationsOf(fallback: string, blocks: readonly KnownBlock[]): string[] {
  const found: string[] = [];
  const check = (isRight: boolean, what: string) => {
    if (!isRight) found.push(what);
  };
  check(fallback.length >= 1 && fallback.length <= 40_000, 'text: 1 to 40,000 characters');
  check(blocks.length >= 1 && blocks.length <= 50, 'blocks: 1 to 50');
  for (const block of blocks) {
    if (block.type === 'section') checkSection(block, check);
    else if (block.type === 'context') checkContext(block, check);
    else if (block.type === 'actions') checkActions(block, check);
    else check(false, `unexpected block ${block.type}`);
  }
  return found;
}

type Check = (isRight: boolean, what: string) => void;

function checkSection({ text: content }: SectionBlock, check: Check): void {
  check(
    content !== undefined && content.text.length >= 1 && content.text.length <= 3_000,
    'section: 1 to 3,000 characters',
  );
}

function checkContext({ elements }: ContextBlock, check: Check): void {
  check(elements.length >= 1 && elements.length <= 10, 'context: 1 to 10 elements');
}

function checkActions({ elements }: ActionsBlock, check: Check): void {
  check(elements.length >= 1 && elements.length <= 25, 'actions: 1 to 25 elements');
  const ids = new Set(elements.map(({ action_id: id }) => id));
  check(ids.size === elements.length, 'actions: different action ids');
  for (const element of elements as Button[]) {
    check(element.type === 'button', `unexpected element ${element.type}`);
    check(element.text.text.length >= 1 && element.text.text.length <= 75, 'button: label of 1 to 75 characters');
    check((element.action_id ?? '').length <= 255, 'button: action id of 255 characters at most');
    check((element.value ?? '').length <= 2_000, 'button: value of 2,000 characters at most');
    check(element.style === undefined || ['primary', 'danger'].includes(element.style), 'button: known style');
  }
}
