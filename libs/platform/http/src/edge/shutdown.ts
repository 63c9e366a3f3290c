import { Injectable } from '@nestjs/common';

type ShutdownListener = () => void | Promise<void>;

/** Handlers subscribe while their request (long poll, event stream, socket) is open. Begins before the listener closes. */
@Injectable()
export class Shutdown {
  private readonly listeners = new Set<ShutdownListener>();
  private begun = false;

  get hasBegun(): boolean {
    return this.begun;
  }

  /** Calls `listener` when the shutdown begins, or at once if it has begun. Returns the function that unsubscribes. */
  onShutdown(listener: ShutdownListener): () => void {
    if (this.begun) {
      void Promise.resolve(listener());
      return () => undefined;
    }
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async begin(): Promise<void> {
    this.begun = true;
    const all = [...this.listeners];
    this.listeners.clear();
    await Promise.allSettled(all.map(async (listener) => listener()));
  }
}
