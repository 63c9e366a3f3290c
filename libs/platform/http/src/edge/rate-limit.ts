import { performance } from 'node:perf_hooks';
import { type ExecutionContext, Injectable } from '@nestjs/common';
import { ThrottlerGuard, type ThrottlerLimitDetail, type ThrottlerStorage } from '@nestjs/throttler';
import type { Request } from 'express';
import { ProblemError } from '../problems/problem-error.js';
import { requestStateOf } from './request-state.js';

export const RATE_WINDOW_MS = 60_000;
const SWEEP_ABOVE = 10_000;

interface Window {
  hits: number;
  endsAt: number;
}

/** Fixed windows in the memory of the process. The storage of the library creates a timer per request. */
export class WindowStorage implements ThrottlerStorage {
  private readonly windows = new Map<string, Window>();

  /** `now`: milliseconds of a monotonic clock. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  increment(key: string, ttl: number, limit: number): ReturnType<ThrottlerStorage['increment']> {
    const now = this.now();
    const known = this.windows.get(key);
    const window = known && known.endsAt > now ? known : { hits: 0, endsAt: now + ttl };
    if (window !== known) {
      if (this.windows.size > SWEEP_ABOVE) this.sweep(now);
      this.windows.set(key, window);
    }
    window.hits += 1;
    const seconds = Math.ceil((window.endsAt - now) / 1000);
    const isBlocked = window.hits > limit;
    return Promise.resolve({
      totalHits: window.hits,
      timeToExpire: seconds,
      isBlocked,
      timeToBlockExpire: isBlocked ? seconds : 0,
    });
  }

  private sweep(now: number): void {
    for (const [key, { endsAt }] of this.windows) if (endsAt <= now) this.windows.delete(key);
  }
}

/** Limits requests per minute and token. Public routes and the runner protocol are not counted. */
@Injectable()
export class RateLimitGuard extends ThrottlerGuard {
  protected override shouldSkip(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    return Promise.resolve(requestStateOf(request).tokenUid === undefined);
  }

  protected override getTracker(request: Request): Promise<string> {
    return Promise.resolve(requestStateOf(request).tokenUid ?? '');
  }

  /** One counter per token over all routes; the key of the library has one per route. */
  protected override generateKey(_context: ExecutionContext, tracker: string): string {
    return tracker;
  }

  protected override throwThrottlingException(_context: ExecutionContext, detail: ThrottlerLimitDetail): Promise<void> {
    throw new ProblemError(
      'rate_limited',
      `The rate limit of ${detail.limit} requests per minute for this token is exceeded.`,
      {
        retryAfterSeconds: detail.timeToBlockExpire,
      },
    );
  }
}
