import { setTimeout as wait } from 'node:timers/promises';
import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream';
import { CommandError } from '../cli/command.js';

const TIMEOUT_MS = 60_000;

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface Connection {
  /** Ends in `/api/v1`. */
  readonly baseUrl: string;
  readonly token: string;
}

/** A response other than success; `body` is a problem document if the API sent it. */
export class ApiError extends CommandError {
  constructor(
    readonly status: number,
    readonly body: Readonly<Record<string, unknown>>,
    message: string,
  ) {
    super(message);
  }
}

export interface Page {
  readonly page_info: { readonly next_cursor?: string };
}

/** A client of the API. Redirects are not followed, so that the token is sent to no other server. */
export class ApiClient {
  private connection: Promise<Connection> | null = null;

  /** `connect` is called with the first request, so that a command checks its input before. */
  constructor(private readonly connect: () => Promise<Connection>) {}

  getConnection(): Promise<Connection> {
    return (this.connection ??= this.connect());
  }

  /** Returns the JSON of a success. Throws an ApiError, or a CommandError without a response. `team`: uid of the team to act for. */
  async request<T>(method: Method, path: string, body?: unknown, team?: string): Promise<T> {
    const response = await this.send(method, path, body, team);
    const text = await response.text();
    const answer = readObject(text);
    // The response of a cancel is a JSON string.
    if (response.ok && answer === null && text.startsWith('"')) return JSON.parse(text) as T;
    if (!response.ok || answer === null) throw await this.errorOf(response, answer);
    return answer as T;
  }

  get<T>(path: string, team?: string): Promise<T> {
    return this.request('GET', path, undefined, team);
  }

  post<T>(path: string, body?: unknown, team?: string): Promise<T> {
    return this.request('POST', path, body, team);
  }

  async *pages<P extends Page>(
    path: string,
    query: Readonly<Record<string, string>>,
    team?: string,
  ): AsyncGenerator<P> {
    const parameters = new URLSearchParams(query);
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      if (cursor !== '') parameters.set('cursor', cursor);
      const page: P = await this.get(`${path}?${parameters.toString()}`, team);
      yield page;
      cursor = page.page_info.next_cursor;
    }
  }

  /** The lines of a response of any length. */
  async *lines(path: string, team?: string): AsyncGenerator<string> {
    const response = await this.fetch(path, {
      method: 'GET',
      headers: team === undefined ? {} : { 'x-headrace-team-uid': team },
    });
    if (!response.ok || response.body === null) throw await this.errorOf(response, readObject(await response.text()));
    let rest = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    if (rest !== '') yield rest;
  }

  async delete(path: string, team?: string): Promise<void> {
    const response = await this.send('DELETE', path, undefined, team);
    const answer = readObject(await response.text());
    if (response.status !== 204) throw await this.errorOf(response, response.ok ? null : answer);
  }

  /** From the beginning without an id; null when there are no more events. Ends or throws when the connection is lost. */
  async stream(path: string, lastEventId: string | undefined): Promise<AsyncIterable<EventSourceMessage> | null> {
    const connected = new AbortController();
    const timer = setTimeout(() => connected.abort(new DOMException('', 'TimeoutError')), TIMEOUT_MS);
    const response = await this.fetch(path, {
      method: 'GET',
      headers: { accept: 'text/event-stream', ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) },
      signal: connected.signal,
    }).finally(() => clearTimeout(timer));
    if (response.status === 204) return null;
    if (!response.ok || response.body === null) throw await this.errorOf(response, readObject(await response.text()));
    return response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  }

  private send(method: Method, path: string, body?: unknown, team?: string): Promise<Response> {
    return this.fetch(path, {
      method,
      headers: {
        accept: 'application/json',
        ...(team !== undefined && { 'x-headrace-team-uid': team }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }

  private async fetch(path: string, { headers, ...request }: RequestInit): Promise<Response> {
    const { baseUrl, token } = await this.getConnection();
    try {
      return await fetch(`${baseUrl}${path}`, {
        ...request,
        redirect: 'manual',
        headers: { ...headers, authorization: `Bearer ${token}`, 'user-agent': 'headrace-cli' },
      });
    } catch (error) {
      throw new CommandError(`the API at ${baseUrl} does not answer (${reasonOf(error)}).`, { cause: error });
    }
  }

  private async errorOf({ status }: Response, answer: Readonly<Record<string, unknown>> | null): Promise<ApiError> {
    const { baseUrl } = await this.getConnection();
    return new ApiError(status, answer ?? {}, explain(baseUrl, status, answer));
  }
}

/** Sends a request again while the API answers that the resource is changing its state, until `signal` aborts. */
export async function retryConflicts<T>(
  send: () => Promise<T>,
  attempts: number,
  pauseMs: number,
  signal?: AbortSignal,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      const isConflict = error instanceof ApiError && error.body.error_code === 'conflict';
      if (!isConflict || attempt >= attempts) throw error;
      await wait(pauseMs, undefined, { signal }).catch(() => {
        throw error;
      });
    }
  }
}

/** The reason is in the cause of the error of fetch. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error) || error.name === 'TimeoutError') return 'timeout';
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  return cause?.code ?? cause?.message ?? error.message;
}

function explain(baseUrl: string, status: number, answer: Readonly<Record<string, unknown>> | null): string {
  const detail = answer?.detail;
  if (typeof detail !== 'string') return `the server at ${baseUrl} is not the API (${status}).`;
  if (status === 401) return `the API rejected the token: ${detail}`;
  const traceId = answer?.trace_id;
  return status >= 500 && typeof traceId === 'string' ? `${detail} (trace id ${traceId})` : detail;
}

function readObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
