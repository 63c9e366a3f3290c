import { Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseUnavailable } from '#platform/persistence';

const RETRY_MS = 500;
const REPORT_MS = 5_000;

export interface DatabaseWait {
  readonly timeoutMs: number;
  /** Ends the wait: the process is to stop. */
  readonly signal?: AbortSignal;
}

export const NO_WAIT: DatabaseWait = { timeoutMs: 0 };

/**
 * Repeats `work` while the database is unavailable, such as one that starts or recovers; after the timeout it rejects with
 * the last error. `work` leaves nothing open when it rejects.
 */
export async function waitForDatabase<T>({ timeoutMs, signal }: DatabaseWait, work: () => Promise<T>): Promise<T> {
  const logger = new Logger('Database');
  const startedAt = performance.now();
  let reportedAt = -Infinity;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const now = performance.now();
      if (!isDatabaseUnavailable(error) || now - startedAt >= timeoutMs || signal?.aborted) throw error;
      if (now - reportedAt >= REPORT_MS) {
        reportedAt = now;
        const { code, message } = error as { code?: string; message: string };
        logger.warn(
          `Waiting for the database, up to ${Math.round(timeoutMs / 1000)} s (DATABASE_START_TIMEOUT): ${message || (code ?? '')}`,
        );
      }
      await delay(RETRY_MS, undefined, signal && { signal }).catch(() => undefined);
    }
  }
}
