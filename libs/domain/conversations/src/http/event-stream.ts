import type { Response } from 'express';

/** How long an EventSource waits before it reconnects. */
const RETRY_MS = 2000;
/** Events are written together up to this size: a write per event costs more than reading a long history. */
const WRITE_LENGTH = 65_536;

export class EventStream {
  private pending = '';
  private scheduled: NodeJS.Immediate | null = null;
  /** While the client reads more slowly than events come. */
  private draining: Promise<boolean> | null = null;

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
    void this.flush();
    this.response.end();
  }

  private async write(text: string): Promise<boolean> {
    if (this.draining && !(await this.draining)) return false;
    if (this.isClosed) return false;
    this.pending += text;
    if (this.pending.length >= WRITE_LENGTH) return this.flush();
    this.scheduled ??= setImmediate(() => void this.flush());
    return true;
  }

  private flush(): Promise<boolean> {
    if (this.scheduled) clearImmediate(this.scheduled);
    this.scheduled = null;
    const text = this.pending;
    this.pending = '';
    if (this.isClosed) return Promise.resolve(false);
    if (text === '' || this.response.write(text)) return Promise.resolve(true);
    this.draining = this.drained().finally(() => {
      this.draining = null;
    });
    return this.draining;
  }

  private get isClosed(): boolean {
    return this.response.destroyed || this.response.writableEnded;
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
