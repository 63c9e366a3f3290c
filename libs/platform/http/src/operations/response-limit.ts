import type { Response } from 'express';
import { KeyedSemaphore, type SemaphoreLimits } from '#platform/kernel';
import { onceClosed } from '../edge/once-closed.js';
import { ProblemError } from '../problems/problem-error.js';

const MAX_WAITING = 100;
const RETRY_AFTER_SECONDS = 10;

/** `maxWaiting` has a default. */
type PermitLimits = Required<Omit<SemaphoreLimits, 'maxWaiting'>> & Pick<SemaphoreLimits, 'maxWaiting'>;

/** Limits work that needs much memory, in one process and for each key. */
export class MemoryPermits {
  private readonly permits: KeyedSemaphore;

  /** `subject`: what is requested, for the problem document: `Too many {subject} are …`. */
  constructor(
    private readonly subject: string,
    private readonly limits: PermitLimits,
  ) {
    this.permits = new KeyedSemaphore({ maxWaiting: MAX_WAITING, ...limits });
  }

  /** Does the work with a permit. Rejects with a ProblemError when none is free in time. */
  async run(key: string, work: () => Promise<void>): Promise<void> {
    if ((await this.permits.run(key, () => work().then(() => true))) !== null) return;
    const { perKey, total } = this.limits;
    throw new ProblemError(
      'resource_unavailable',
      `Too many ${this.subject} are being sent: at most ${perKey} at the same time for one caller or link, and ${total} in all.`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  }
}

/** Of the responses that one process prepares and sends at the same time. */
export interface ResponseLimits extends PermitLimits {
  /** Milliseconds after which a client that has not read the response is disconnected. */
  readonly maxSendMs: number;
}

/** Responses for which a permit was given. */
const permitted = new WeakSet<Response>();

/** Whether the memory of the response is limited already. */
export const hasPermit = (response: Response): boolean => permitted.has(response);

/** Limits responses that each need much memory for as long as their client reads. */
export class ResponseLimit {
  private readonly permits: MemoryPermits;

  /** `subject`: as of {@link MemoryPermits}. */
  constructor(
    subject: string,
    private readonly limits: ResponseLimits,
  ) {
    this.permits = new MemoryPermits(subject, limits);
  }

  /** Does the work with a permit, which is kept until the response has ended. Rejects with a ProblemError when none is free in time. */
  run<T>(key: string, response: Response, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const ended = new Promise<void>((end) => onceClosed(response, end));
      const respond = async (): Promise<void> => {
        permitted.add(response);
        const timer = setTimeout(() => response.destroy(), this.limits.maxSendMs);
        await work().then(resolve, reject);
        await ended;
        clearTimeout(timer);
      };
      this.permits.run(key, respond).catch(reject);
    });
  }
}
