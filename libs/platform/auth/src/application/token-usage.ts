import { LRUCache } from 'lru-cache';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { BackgroundTasks, defineTask, type PeriodicTask } from '#platform/jobs';
import { maxEntries } from '#platform/kernel';
import { TokenQueries } from '../persistence/token-queries.js';

const ONCE_PER_MS = 60_000;
const MAX_REMEMBERED = 10_000;

const WRITE_TOKEN_USAGE_TASK = defineTask({
  name: 'write-token-usage',
  library: 'auth',
  process: 'api',
  scope: 'process',
  period: 2000,
  description: 'Writes when tokens were last used, in one statement for all of them.',
});

/** Records when a token was last used: at most once a minute per token, in batches, outside of the request. */
@Injectable()
export class TokenUsage implements OnModuleDestroy {
  private readonly logger = new Logger(TokenUsage.name);
  private readonly noted = new LRUCache<string, true>({
    ...maxEntries(MAX_REMEMBERED),
    ttl: ONCE_PER_MS,
    ttlResolution: 0,
  });
  private readonly pending = new Set<string>();
  private readonly writing: PeriodicTask;

  constructor(
    private readonly tokens: TokenQueries,
    tasks: BackgroundTasks,
  ) {
    this.writing = tasks.implement(WRITE_TOKEN_USAGE_TASK, () => this.write());
  }

  note(tokenUid: string): void {
    if (this.noted.has(tokenUid)) return;
    this.noted.set(tokenUid, true);
    this.pending.add(tokenUid);
  }

  async onModuleDestroy(): Promise<void> {
    await this.writing.stop();
    await this.write();
  }

  /** Never rejects: the next use of a token is recorded again. */
  private async write(): Promise<void> {
    const uids = [...this.pending];
    this.pending.clear();
    if (uids.length === 0) return;
    await this.tokens.markUsed(uids).catch((error: Error) => {
      for (const uid of uids) this.noted.delete(uid);
      this.logger.warn(`The last use of ${uids.length} token(s) was not recorded: ${error.message}`);
    });
  }
}
