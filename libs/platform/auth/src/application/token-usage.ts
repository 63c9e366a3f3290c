import { performance } from 'node:perf_hooks';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { TokenQueries } from '../persistence/token-queries.js';

const ONCE_PER_MS = 60_000;
const FLUSH_AFTER_MS = 2_000;
const SWEEP_ABOVE = 10_000;

/** Records the last use of tokens: at most once a minute per token, in batches, without delaying requests. */
@Injectable()
export class TokenUsage implements OnModuleDestroy {
  private readonly logger = new Logger(TokenUsage.name);
  private readonly noted = new Map<string, number>();
  private readonly pending = new Set<string>();
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly tokens: TokenQueries) {}

  note(tokenUid: string): void {
    const now = performance.now();
    const last = this.noted.get(tokenUid);
    if (last !== undefined && now - last < ONCE_PER_MS) return;
    if (this.noted.size > SWEEP_ABOVE) this.noted.clear();
    this.noted.set(tokenUid, now);
    this.pending.add(tokenUid);
    this.timer ??= setTimeout(() => void this.flush(), FLUSH_AFTER_MS).unref();
  }

  async onModuleDestroy(): Promise<void> {
    await this.flush();
  }

  private async flush(): Promise<void> {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    const uids = [...this.pending];
    this.pending.clear();
    if (uids.length === 0) return;
    await this.tokens.markUsed(uids).catch((error: Error) => {
      for (const uid of uids) this.noted.delete(uid);
      this.logger.warn(`The last use of ${uids.length} token(s) was not recorded: ${error.message}`);
    });
  }
}
