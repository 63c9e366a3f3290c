import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';

/** Turns that may wait for one that is under way. */
const QUEUE_PER_TURN = 4;
const MAX_WAIT_MS = 2000;

/**
 * Lets few searches run at once, so that searches, however slow and many, leave most of the connections to everything
 * else. Those beyond wait in order, not for long.
 */
@Injectable()
export class SearchLimiter {
  private free: number;
  private readonly turns: number;
  private readonly waiting: (() => void)[] = [];

  constructor(settings: Settings) {
    this.turns = Math.max(1, Math.floor(settings.databasePoolSize / 4));
    this.free = this.turns;
  }

  /** What `work` resolves to, or null when no turn came. */
  async run<T>(work: () => Promise<T>): Promise<T | null> {
    if (!(await this.enter())) return null;
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  private enter(): Promise<boolean> {
    if (this.free > 0) {
      this.free -= 1;
      return Promise.resolve(true);
    }
    if (this.waiting.length >= this.turns * QUEUE_PER_TURN) return Promise.resolve(false);
    return new Promise((resolve) => {
      const go = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(go), 1);
        resolve(false);
      }, MAX_WAIT_MS);
      this.waiting.push(go);
    });
  }

  /** The turn goes to who waits longest. */
  private leave(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.free += 1;
  }
}
