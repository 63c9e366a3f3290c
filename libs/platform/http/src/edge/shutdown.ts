import { Injectable } from '@nestjs/common';

type Farewell = () => void | Promise<void>;

/**
 * Tells whoever holds a request open (long-polls, event streams, sockets) that the process is going down, before the
 * listener closes. Subscribe for as long as the request lives:
 *
 *   const forget = shutdown.onShutdown(() => response.status(204).end());
 *   response.once('close', forget);
 */
@Injectable()
export class Shutdown {
  private readonly farewells = new Set<Farewell>();
  private begun = false;

  get hasBegun(): boolean {
    return this.begun;
  }

  /** Calls `farewell` once when shutdown begins, at once when it has; the returned function takes it back. */
  onShutdown(farewell: Farewell): () => void {
    if (this.begun) {
      void Promise.resolve(farewell());
      return () => undefined;
    }
    this.farewells.add(farewell);
    return () => this.farewells.delete(farewell);
  }

  async begin(): Promise<void> {
    this.begun = true;
    const all = [...this.farewells];
    this.farewells.clear();
    await Promise.allSettled(all.map(async (farewell) => farewell()));
  }
}
