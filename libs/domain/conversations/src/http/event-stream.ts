import type { Response } from 'express';

/** Tells an EventSource how long to wait before it connects again. */
const RETRY_MS = 2000;

/** Server-sent events onto a response, at the pace of whoever reads them. */
export class EventStream {
  constructor(
    private readonly response: Response,
    /** Milliseconds without a byte taken, after which the reader counts as gone. */
    private readonly stallMs: number,
  ) {}

  /** Sends the head of the answer at once. */
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

  /** `data` is one line. Resolves false when the reader is gone. */
  send(event: string, id: string, data: string): Promise<boolean> {
    return this.write(`event: ${event}\nid: ${id}\ndata: ${data}\n\n`);
  }

  beat(): Promise<boolean> {
    return this.write(': nothing new\n\n');
  }

  close(): void {
    this.response.end();
  }

  private write(text: string): Promise<boolean> {
    if (this.response.destroyed || this.response.writableEnded) return Promise.resolve(false);
    return this.response.write(text) ? Promise.resolve(true) : this.drained();
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
