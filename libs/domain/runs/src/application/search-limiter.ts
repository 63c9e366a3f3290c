import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { KeyedSemaphore } from '#platform/kernel';

/** Searches that may wait for one that runs. */
const WAITING_PER_PERMIT = 4;
const MAX_WAIT_MS = 2000;

/**
 * Runs few searches at once, so that slow searches leave most of the database connections to other requests. Further
 * searches wait in their order, for a short time.
 */
@Injectable()
export class SearchLimiter {
  private readonly semaphore: KeyedSemaphore;

  constructor(settings: Settings) {
    const total = Math.max(1, Math.floor(settings.databasePoolSize / 4));
    this.semaphore = new KeyedSemaphore({ total, maxWaiting: total * WAITING_PER_PERMIT, maxWaitMs: MAX_WAIT_MS });
  }

  /** What `work` resolves to, or null when no permit was free in time. */
  run<T>(work: () => Promise<T>): Promise<T | null> {
    return this.semaphore.run('', work);
  }
}
