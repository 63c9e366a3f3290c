import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { anthropicMessages } from './anthropic-messages.js';
import { chatCompletions } from './chat-completions.js';
import { geminiContents } from './gemini-contents.js';
import { asObject, type JsonObject } from './json.js';
import type { ModelDialect, ModelRequest } from './model-dialect.js';
import { failing, followInstructions } from './model-script.js';
import { openaiResponses } from './openai-responses.js';

const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
};

const DIALECTS: readonly ModelDialect[] = [anthropicMessages, openaiResponses, chatCompletions, geminiContents];

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
    const step = isKnown ? followInstructions(request) : failing('401');
    const id = String(this.requests.length);
    if (step.kind === 'cut') return void response.destroy();
    if (step.kind === 'fail') {
      const type = ERROR_TYPES[step.status] ?? 'server_error';
      const { error = (_status, code, message) => ({ error: { type: code, code, message } }) } = dialect;
      return json(response, step.status, error(step.status, type, step.message));
    }
    if (!request.isStream && step.kind !== 'hang') return json(response, 200, dialect.whole(step, request.model, id));
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    const text = dialect.stream(step, request.model, id);
    if (step.kind !== 'hang') return void response.end(text);
    response.write(text);
    this.hangingCount += 1;
    response.once('close', () => {
      this.hangingCount -= 1;
      for (const look of [...this.watchers]) look();
    });
  }

  private answerOther(path: string, response: ServerResponse): void {
    if (/count_?tokens/i.test(path)) return json(response, 200, { input_tokens: 10, totalTokens: 10 });
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
