import { Injectable } from '@nestjs/common';
import { ProblemError } from '#platform/http';
import { KeyedSemaphore } from '#platform/kernel';

/** Each download keeps up to two packs of a snapshot in memory for as long as the client reads. */
const LIMITS = { total: 16, perKey: 4, maxWaiting: 100, maxWaitMs: 5_000 };
const RETRY_AFTER_SECONDS = 10;

/** Limits the downloads of snapshots that a process sends at the same time. */
@Injectable()
export class SnapshotDownloads {
  private readonly permits = new KeyedSemaphore(LIMITS);

  /** `key`: of the person, or of the link. Rejects with a ProblemError when no download has ended in time. */
  async send(key: string, work: () => Promise<void>): Promise<void> {
    const isSent = await this.permits.run(key, async () => {
      await work();
      return true;
    });
    if (isSent === null)
      throw new ProblemError(
        'resource_unavailable',
        `Too many files of runs are being downloaded: at most ${LIMITS.perKey} at the same time by one person or link.`,
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      );
  }
}
