import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream';
import { CommandError } from '../cli/command.js';

const TIMEOUT_MS = 60_000;

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Base URL and token of the API. */
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

/** A client of the API. Redirects are not followed, so that the token is sent to no other server. */
export class ApiClient {
  constructor(private readonly connection: Connection) {}

  /** Ends in `/api/v1`. */
  get baseUrl(): string {
    return this.connection.baseUrl;
  }

  /** Returns the JSON of a success. Throws an ApiError, or a CommandError without a response. `team`: uid of the team to act for. */
  async request<T>(method: Method, path: string, body?: unknown, team?: string): Promise<T> {
    const { baseUrl } = this.connection;
    const response = await this.send(method, path, body, team);
    const text = await response.text();
    const answer = readObject(text);
    // The response of a cancel is a JSON string.
    if (response.ok && answer === null && text.startsWith('"')) return JSON.parse(text) as T;
    if (!response.ok || answer === null)
      throw new ApiError(response.status, answer ?? {}, explain(baseUrl, response.status, answer));
    return answer as T;
  }

  /** Resolves when the resource is deleted; throws like `request`. */
  async delete(path: string): Promise<void> {
    const response = await this.send('DELETE', path, undefined);
    const answer = readObject(await response.text());
    if (response.status !== 204)
      throw new ApiError(
        response.status,
        answer ?? {},
        explain(this.connection.baseUrl, response.status, response.ok ? null : answer),
      );
  }

  /**
   * An event stream after the event with this id, or from its beginning. Null when there are no more events. The stream ends,
   * or throws, when the connection is lost.
   */
  async stream(path: string, lastEventId: string | undefined): Promise<AsyncIterable<EventSourceMessage> | null> {
    const connected = new AbortController();
    const timer = setTimeout(() => connected.abort(new DOMException('', 'TimeoutError')), TIMEOUT_MS);
    const response = await this.fetch(path, {
      method: 'GET',
      headers: { accept: 'text/event-stream', ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) },
      signal: connected.signal,
    }).finally(() => clearTimeout(timer));
    if (response.status === 204) return null;
    if (!response.ok || response.body === null) {
      const answer = readObject(await response.text());
      throw new ApiError(response.status, answer ?? {}, explain(this.baseUrl, response.status, answer));
    }
    return response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  }

  private send(method: string, path: string, body: unknown, team?: string): Promise<Response> {
    return this.fetch(path, {
      method,
      headers: {
        accept: 'application/json',
        ...(team === undefined ? {} : { 'x-headrace-team-uid': team }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }

  private async fetch(path: string, { headers, ...request }: RequestInit): Promise<Response> {
    const { baseUrl, token } = this.connection;
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
