import { performance } from 'node:perf_hooks';
import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  InjectThrottlerOptions,
  InjectThrottlerStorage,
  ThrottlerGuard,
  type ThrottlerLimitDetail,
  type ThrottlerModuleOptions,
  type ThrottlerStorage,
} from '@nestjs/throttler';
import type { Request, Response } from 'express';
import { Settings } from '#platform/config';
import { ProblemError } from '../problems/problem-error.js';
import { addHeaders } from './edge-response.js';
import { requestStateOf } from './request-state.js';

export const RATE_WINDOW_MS = 60_000;
const SWEEP_ABOVE = 10_000;
/** What the keys of the metadata of the library begin with. */
const LIBRARY_METADATA = 'THROTTLER:';

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
    return Promise.resolve(this.count(key, ttl, limit));
  }

  count(key: string, ttl: number, limit: number): Awaited<ReturnType<ThrottlerStorage['increment']>> {
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
    return {
      totalHits: window.hits,
      timeToExpire: seconds,
      isBlocked,
      timeToBlockExpire: isBlocked ? seconds : 0,
    };
  }

  private sweep(now: number): void {
    for (const [key, { endsAt }] of this.windows) if (endsAt <= now) this.windows.delete(key);
  }
}

const ADMITTED = Promise.resolve(true);

/** Limits requests per minute and token. Public routes and the runner protocol are not counted. */
@Injectable()
export class RateLimitGuard extends ThrottlerGuard {
  private readonly decorated = new WeakMap<object, boolean>();

  constructor(
    @InjectThrottlerOptions() options: ThrottlerModuleOptions,
    @InjectThrottlerStorage() private readonly windows: WindowStorage,
    reflector: Reflector,
    private readonly settings: Settings,
  ) {
    super(options, windows, reflector);
  }

  /** As the library does it for routes without a decorator of it, whose options it would look up and build for each request. */
  override canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.isDecorated(context.getHandler()) || this.isDecorated(context.getClass()))
      return super.canActivate(context);
    const http = context.switchToHttp();
    const { tokenUid } = requestStateOf(http.getRequest<Request>());
    const limit = this.settings.apiRatePerMinute;
    if (tokenUid === undefined || limit === 0) return ADMITTED;
    const { totalHits, timeToExpire, isBlocked } = this.windows.count(tokenUid, RATE_WINDOW_MS, limit);
    if (isBlocked) throw limitExceeded(limit, timeToExpire);
    const response = http.getResponse<Response>();
    const remaining = ['X-RateLimit-Remaining', String(limit - totalHits)];
    addHeaders(response, ['X-RateLimit-Limit', String(limit), ...remaining, 'X-RateLimit-Reset', String(timeToExpire)]);
    return ADMITTED;
  }

  /** `target`: a handler or its controller. */
  private isDecorated(target: object): boolean {
    const known = this.decorated.get(target);
    if (known !== undefined) return known;
    const isDecorated = Reflect.getMetadataKeys(target).some((key) => String(key).startsWith(LIBRARY_METADATA));
    this.decorated.set(target, isDecorated);
    return isDecorated;
  }

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
    throw limitExceeded(detail.limit, detail.timeToBlockExpire);
  }
}

const limitExceeded = (limit: number, retryAfterSeconds: number): ProblemError =>
  new ProblemError('rate_limited', `The rate limit of ${limit} requests per minute for this token is exceeded.`, {
    retryAfterSeconds,
  });
