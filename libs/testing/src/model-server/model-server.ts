import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { anthropicMessages } from './anthropic-messages.js';
import { bedrockMessages, vertexMessages } from './anthropic-in-clouds.js';
import { chatCompletions } from './chat-completions.js';
import { geminiContents } from './gemini-contents.js';
import { asObject, type JsonObject } from './json.js';
import type { ModelDialect, ModelRequest, ModelStep } from './model-dialect.js';
import { failing, followInstructions } from './model-script.js';
import { openaiResponses } from './openai-responses.js';

const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
};

const OPENAI_QUOTA = {
  status: 429,
  type: 'insufficient_quota',
  message: 'You exceeded your current quota, please check your plan and billing details.',
};
/** As LiteLLM answers for a virtual key whose budget is spent, in all dialects. */
const GATEWAY_BUDGET: JsonObject = {
  error: {
    message: 'Budget has been exceeded! Current cost: 26.075, Max budget: 0.25',
    type: 'budget_exceeded',
    param: null,
    code: '400',
  },
};
const openaiError = (_status: number, code: string, message: string): JsonObject => ({
  error: { type: code, code, message },
});

const DIALECTS: readonly ModelDialect[] = [
  anthropicMessages,
  bedrockMessages,
  vertexMessages,
  openaiResponses,
  chatCompletions,
  geminiContents,
];

export interface SeenModelRequest extends ModelRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** The whole request, as it came. */
  readonly body: string;
}

/**
 * The model of a test, on a loopback port: what providers of models speak, as far as agents need it, with answers that
 * the prompt itself dictates; see {@link followInstructions}.
 */
export class ModelServer {
  readonly requests: SeenModelRequest[] = [];
  /** What nobody was there for. */
  readonly unknownPaths: string[] = [];
  private hangingCount = 0;
  private readonly watchers = new Set<() => void>();

  private constructor(
    private readonly server: Server,
    private readonly key: string,
  ) {}

  /** @param key anybody who does not send it gets a 401. */
  static async start(key = ''): Promise<ModelServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const models = new ModelServer(server, key);
    server.on('request', (request, response) => void models.answer(request, response));
    return models;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Requests that were answered with a beginning only, and whose agent still waits. */
  get hanging(): number {
    return this.hangingCount;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Resolves when the condition holds, which is looked at with every request and every end of one. */
  async until(condition: () => boolean, what: string, ms = 30_000): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve, reject) => {
      const end = (error?: Error): void => {
        clearTimeout(timer);
        this.watchers.delete(look);
        if (error) reject(error);
        else resolve();
      };
      const look = (): void => {
        if (condition()) end();
      };
      const paths = (): string => this.requests.map(({ path }) => path).join(' ');
      const timer = setTimeout(
        () => end(new Error(`Waited ${ms} ms without success until ${what}. Asked: ${paths()}`)),
        ms,
      );
      this.watchers.add(look);
    });
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const path = new URL(request.url ?? '/', this.url).pathname;
    const dialect = DIALECTS.find(({ asks }) => asks(path));
    if (dialect) this.ask(dialect, { path, headers: request.headers, body }, response);
    else this.answerOther(path, response);
    for (const look of [...this.watchers]) look();
  }

  private ask(
    dialect: ModelDialect,
    given: Pick<SeenModelRequest, 'path' | 'headers' | 'body'>,
    response: ServerResponse,
  ): void {
    const request: SeenModelRequest = { ...given, ...dialect.read(parsed(given.body), given.path) };
    this.requests.push(request);
    const isKnown = JSON.stringify(given.headers).includes(this.key);
    const step = isKnown ? this.stepFor(request) : failing('401');
    const id = String(this.requests.length);
    if (step.kind === 'cut') return void response.destroy();
    if (step.kind === 'budget') return json(response, 400, GATEWAY_BUDGET);
    if (step.kind === 'fail' || step.kind === 'quota') {
      const { error = openaiError, quota = OPENAI_QUOTA } = dialect;
      const { status, message } = step.kind === 'quota' ? quota : step;
      const type = step.kind === 'quota' ? quota.type : (ERROR_TYPES[status] ?? 'server_error');
      const retryAfter = step.kind === 'fail' ? step.retryAfter : undefined;
      if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
      return json(response, status, error(status, type, message));
    }
    if (step.kind === 'midway') return this.cutMidway(dialect, request, response);
    if (!request.isStream && step.kind !== 'hang') return json(response, 200, dialect.whole(step, request.model, id));
    const type = dialect.streamType ?? 'text/event-stream';
    response.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache' });
    const text = dialect.stream(step, request.model, id);
    if (step.kind !== 'hang') return void response.end(text);
    response.write(text);
    this.hangingCount += 1;
    response.once('close', () => {
      this.hangingCount -= 1;
      for (const look of [...this.watchers]) look();
    });
  }

  /** Some agents continue an answer that was cut with another message than the one that asked for it. */
  private stepFor(request: SeenModelRequest): ModelStep {
    const isMidway = request.tools.length > 0 && /FAIL: midway\b/.test(request.body);
    return isMidway ? failing('midway') : followInstructions(request);
  }

  /** The client has the beginning of the answer, and then no connection. */
  private cutMidway(dialect: ModelDialect, { model, isStream }: SeenModelRequest, response: ServerResponse): void {
    const step = { kind: 'text', text: 'This answer has a beginning and no end.' } as const;
    const text = isStream ? dialect.stream(step, model, 'cut') : JSON.stringify(dialect.whole(step, model, 'cut'));
    // Up to the text, which is before the middle of every dialect's stream but the one that has a single event.
    if (typeof text !== 'string') return void response.destroy();
    const end = text.indexOf(step.text) + step.text.length;
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    const whole = text.indexOf('\n\n', end) + 2;
    const isSingle = whole === text.length || whole === 1;
    response.write(text.slice(0, isSingle ? end : whole), () => response.destroy());
  }

  private answerOther(path: string, response: ServerResponse): void {
    if (/count[_-]?tokens/i.test(path)) return json(response, 200, { input_tokens: 10, totalTokens: 10 });
    if (path.endsWith('/models')) return json(response, 200, { object: 'list', data: [], models: [] });
    this.unknownPaths.push(path);
    json(response, 404, { error: { type: 'not_found_error', message: `There is nothing at ${path}.` } });
  }
}

function parsed(body: string): JsonObject {
  try {
    return asObject(JSON.parse(body));
  } catch {
    return {}; // a compressed or broken body: then the script sees no tools, and says a text
  }
}

function json(response: ServerResponse, status: number, body: JsonObject): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
