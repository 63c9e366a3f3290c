import { Logger } from '@nestjs/common';
import { isDatabaseUnavailable } from '#platform/persistence';

/**
 * Does a round of work whenever it is asked to, one at a time, and by a poll as the safety net. Asked in the middle of a
 * round it does another one afterwards. A round that fails is logged, unless the database is away: the poll tries again.
 */
export class Pump {
  private readonly logger: Logger;
  private timer: NodeJS.Timeout | null = null;
  private pumping: Promise<void> | null = null;
  private again = false;
  private opened = false;

  constructor(
    name: string,
    private readonly round: () => Promise<void>,
  ) {
    this.logger = new Logger(name);
  }

  get isOpen(): boolean {
    return this.opened;
  }

  open(pollMs: number): void {
    this.opened = true;
    this.timer = setInterval(() => this.pump(), pollMs);
  }

  /** Waits for the round under way. */
  async close(): Promise<void> {
    this.opened = false;
    if (this.timer) clearInterval(this.timer);
    await this.pumping;
  }

  /** Begins at once. Never throws. */
  pump(): void {
    if (!this.opened) return;
    if (this.pumping) {
      this.again = true;
      return;
    }
    this.pumping = this.round()
      .catch((error: unknown) => this.report(error))
      .finally(() => {
        this.pumping = null;
        if (!this.again) return;
        this.again = false;
        this.pump();
      });
  }

  /** What a round has left undone is found by a later one. */
  report(error: unknown): void {
    if (!isDatabaseUnavailable(error)) this.logger.error(error);
  }
}
