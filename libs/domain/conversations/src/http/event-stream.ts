import type { Response } from 'express';

/** How long an EventSource waits before it reconnects. */
const RETRY_MS = 2000;
/** Characters that are written at once. */
const CHUNK = 32_768;

/** Events of one turn of the event loop are written together: a long history would otherwise be thousands of packets. */
export class EventStream {
  private pending = '';

  constructor(
    private readonly response: Response,
    /** Milliseconds without progress of a write after which the client counts as disconnected. */
    private readonly stallMs: number,
  ) {}

  open(): void {
    this.response.status(200).set({
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      // Proxies that buffer would hold events back.
      'X-Accel-Buffering': 'no',
    });
    this.response.flushHeaders();
    this.response.write(`retry: ${RETRY_MS}\n\n`);
  }

  /** `data` is one line. Resolves to false when the client has disconnected. */
  send(event: string, id: string, data: string): Promise<boolean> {
    return this.write(`event: ${event}\nid: ${id}\ndata: ${data}\n\n`);
  }

  heartbeat(): Promise<boolean> {
    return this.write(': heartbeat\n\n');
  }

  close(): void {
    this.response.end(this.pending);
    this.pending = '';
  }

  private write(text: string): Promise<boolean> {
    if (this.response.destroyed || this.response.writableEnded) return Promise.resolve(false);
    if (this.pending === '') setImmediate(() => void this.flush());
    this.pending += text;
    return this.pending.length < CHUNK ? Promise.resolve(true) : this.flush();
  }

  private flush(): Promise<boolean> {
    const text = this.pending;
    this.pending = '';
    const isClosed = this.response.destroyed || this.response.writableEnded;
    return text === '' || isClosed || this.response.write(text) ? Promise.resolve(!isClosed) : this.drained();
  }

  private drained(): Promise<boolean> {
    const { response } = this;
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        response.off('drain', finish);
        response.off('close', finish);
        resolve(!response.destroyed);
      };
      const timer = setTimeout(() => response.destroy(), this.stallMs);
      response.once('drain', finish);
      response.once('close', finish);
    });
  }
}
