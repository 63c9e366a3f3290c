import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Step } from '#domain/conversations';
import { noteExchange, type TestApi } from '#testing';

export interface LiveEvent {
  readonly event: string;
  readonly id: string;
  // Tests look into JSON of many shapes.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: any;
}

export interface WatchOptions {
  readonly token: string;
  readonly lastEventId?: string;
  readonly query?: string;
}

/** An open stream of one run, as a client reads it. */
export class LiveClient {
  readonly events: LiveEvent[] = [];
  /** Comments, which say only that the stream is there. */
  beats = 0;
  isClosed = false;
  readonly closed: Promise<void>;
  private readonly watchers = new Set<() => void>();
  private readonly abort: AbortController;

  private constructor(
    readonly response: Response,
    abort: AbortController,
  ) {
    this.abort = abort;
    this.closed = this.read().finally(() => {
      this.isClosed = true;
      this.wake();
    });
  }

  /** Fails unless the answer is a stream. */
  static async watch(api: TestApi, runId: string, { token, lastEventId, query }: WatchOptions): Promise<LiveClient> {
    const abort = new AbortController();
    const path = `/agent/runs/${runId}/events`;
    const response = await fetch(`${api.url}/api/v1${path}${query === undefined ? '' : `?${query}`}`, {
      signal: abort.signal,
      headers: {
        authorization: `Bearer ${token}`,
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
    });
    if (response.status !== 200) throw new Error(`expected a stream, got ${response.status}: ${await response.text()}`);
    noteExchange('GET', path, 200);
    return new LiveClient(response, abort);
  }

  of(kind: string): LiveEvent[] {
    return this.events.filter(({ event }) => event === kind);
  }

  get lastId(): string {
    return this.events.at(-1)?.id ?? '';
  }

  /** Resolves when what has arrived so far satisfies the test; rejects when the stream closes before. */
  async until(holds: (client: LiveClient) => boolean): Promise<this> {
    while (!holds(this)) {
      if (this.isClosed) throw new Error(`The stream closed too early: ${JSON.stringify(this.events.slice(-5))}`);
      await new Promise<void>((resolve) => this.watchers.add(resolve));
    }
    return this;
  }

  sawState = (state: string) => (client: LiveClient) => client.of('state').some(({ data }) => data.state === state);

  /** Hangs up, as a client whose network breaks does. */
  async leave(): Promise<void> {
    this.abort.abort();
    await this.closed;
  }

  private async read(): Promise<void> {
    const parser = createParser({
      onEvent: ({ event = '', id = '', data }: EventSourceMessage) =>
        void this.events.push({ event, id, data: JSON.parse(data) }),
      onComment: () => void (this.beats += 1),
    });
    const text = new TextDecoder();
    try {
      for await (const chunk of this.response.body ?? []) {
        parser.feed(text.decode(chunk as Uint8Array, { stream: true }));
        this.wake();
      }
    } catch (error) {
      // Hung up by us, or broken off by the server: either way the stream is over.
      if (!(error instanceof Error)) throw error;
    }
  }

  private wake(): void {
    for (const watcher of [...this.watchers]) watcher();
    this.watchers.clear();
  }
}

/** What clients do with `conversation` events, as docs/live-events.md tells them. */
export function mergeConversation(events: readonly LiveEvent[]): Step[] {
  const steps: Step[] = [];
  for (const { data } of events.filter(({ event }) => event === 'conversation')) {
    const path = data.path as number[];
    let siblings = steps;
    for (const index of path.slice(0, -1)) siblings = siblings[index]?.steps ?? [];
    const last = path.at(-1) ?? 0;
    const { message_count: count, ...header } = data.step;
    const kept = siblings[last];
    const step: Step = { ...header, messages: kept?.messages ?? [], steps: kept?.steps ?? [] };
    siblings[last] = step;
    if (data.message_index !== undefined) step.messages[data.message_index] = data.message;
    step.messages.length = Math.min(step.messages.length, count);
  }
  return steps;
}

export const timelineOf = (events: readonly LiveEvent[]): unknown[] =>
  events.filter(({ event }) => event === 'timeline').map(({ data }) => data as unknown);
