export interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

export type Ending =
  /** The response is no stream. `retryAfterMs`: as the server asks for it. */
  | { readonly kind: 'rejected'; readonly status: number; readonly retryAfterMs: number | null }
  /** The stream was closed, or nothing came for too long. */
  | { readonly kind: 'closed' };

/** Longer than the pause between two comments of the server: a connection without them is lost, such as after a laptop slept. */
const SILENCE_MS = 50_000;

interface ReadOptions {
  readonly url: string;
  /** Empty: from the beginning. */
  readonly lastEventId: string;
  readonly abort: AbortController;
  readonly onOpen: () => void;
  /** All events that have arrived together, and the id of the last one. */
  readonly onEvents: (events: readonly ServerEvent[], lastEventId: string) => void;
}

/**
 * Reads server-sent events until the stream ends. Unlike an EventSource it hands over the events of one chunk together, which
 * is faster by several times for a long history, and shows why a server rejects the request.
 */
export async function readEvents({ url, lastEventId, abort, onOpen, onEvents }: ReadOptions): Promise<Ending> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const restartTimer = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => abort.abort(), SILENCE_MS);
  };
  restartTimer();
  try {
    const response = await fetch(url, {
      credentials: 'same-origin',
      cache: 'no-store',
      headers: { Accept: 'text/event-stream', ...(lastEventId !== '' && { 'Last-Event-ID': lastEventId }) },
      signal: abort.signal,
    });
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    if (response.status !== 200 || !isStream || response.body === null) {
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
      return {
        kind: 'rejected',
        status: response.status,
        retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : null,
      };
    }
    onOpen();
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let rest = '';
    let id = lastEventId;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { kind: 'closed' };
      restartTimer();
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = blocks.pop() ?? '';
      const events: ServerEvent[] = [];
      for (const block of blocks) {
        const event = parse(block);
        if (event.id !== undefined) id = event.id;
        if (event.data !== undefined) events.push({ name: event.name, data: event.data });
      }
      if (events.length > 0) onEvents(events, id);
    }
  } catch {
    return { kind: 'closed' };
  } finally {
    clearTimeout(timer);
  }
}

/** The fields of one event. A comment has none. */
function parse(block: string): { name: string; id?: string; data?: string } {
  const fields: { name: string; id?: string; data?: string } = { name: 'message' };
  for (const line of block.split('\n')) {
    if (line.startsWith('data: ')) fields.data = line.slice(6);
    else if (line.startsWith('event: ')) fields.name = line.slice(7);
    else if (line.startsWith('id: ')) fields.id = line.slice(4);
  }
  return fields;
}
