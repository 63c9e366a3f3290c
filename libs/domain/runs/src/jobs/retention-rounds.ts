import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '#platform/kernel';
import { PruneRuns } from '../application/prune-runs.js';

/** A round gives way to other housekeeping after this; the next one goes on where it ended. */
const LONGEST_ROUND_MS = 10 * 60_000;

/** Rounds of pruning, one step after the other. */
@Injectable()
export class RetentionRounds {
  private readonly logger = new Logger(RetentionRounds.name);
  private isStopped = false;

  constructor(
    private readonly prune: PruneRuns,
    private readonly clock: Clock,
  ) {}

  async round(): Promise<void> {
    const deadline = this.clock.now().getTime() + LONGEST_ROUND_MS;
    for (const kind of this.prune.kinds) {
      let pruned = 0;
      for (let hasMore = true; hasMore && !this.isStopped && this.clock.now().getTime() < deadline;) {
        const step = await this.prune.step(kind);
        pruned += step.pruned;
        ({ hasMore } = step);
      }
      if (pruned > 0) this.logger.log(`Retention (${kind}): ${pruned} run(s) were pruned.`);
    }
  }

  /** A round under way ends after its step. */
  stop(): void {
    this.isStopped = true;
  }
}
