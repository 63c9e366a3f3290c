import { performance } from 'node:perf_hooks';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Settings } from '#platform/config';
import { ProblemError } from '../problems/problem-error.js';
import { requestStateOf } from './request-state.js';

const WINDOW_MS = 60_000;
const SWEEP_ABOVE = 10_000;

interface Window {
  hits: number;
  endsAt: number;
}

/** Fixed windows of a minute in the memory of the process. */
export class RateWindows {
  private readonly windows = new Map<string, Window>();

  /** `now`: milliseconds of a monotonic clock. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Counts a request. Returns how many the window has, and the seconds until it ends. */
  hit(key: string): { readonly hits: number; readonly seconds: number } {
    const now = this.now();
    const known = this.windows.get(key);
    const window = known && known.endsAt > now ? known : { hits: 0, endsAt: now + WINDOW_MS };
    if (window !== known) {
      if (this.windows.size > SWEEP_ABOVE) this.sweep(now);
      this.windows.set(key, window);
    }
    window.hits += 1;
    return { hits: window.hits, seconds: Math.ceil((window.endsAt - now) / 1000) };
  }

  private sweep(now: number): void {
    for (const [key, { endsAt }] of this.windows) if (endsAt <= now) this.windows.delete(key);
  }
}

/** Limits requests per minute and token over all routes. Public routes and the runner protocol are not counted. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  private readonly windows = new RateWindows();

  constructor(private readonly settings: Settings) {}

  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const { tokenUid } = requestStateOf(http.getRequest<Request>());
    const limit = this.settings.apiRatePerMinute;
    if (tokenUid === undefined || limit === 0) return true;
    const { hits, seconds } = this.windows.hit(tokenUid);
    if (hits > limit) {
      const detail = `The rate limit of ${limit} requests per minute for this token is exceeded.`;
      throw new ProblemError('rate_limited', detail, { retryAfterSeconds: seconds });
    }
    const headers = { 'X-RateLimit-Limit': limit, 'X-RateLimit-Remaining': limit - hits, 'X-RateLimit-Reset': seconds };
    for (const [name, value] of Object.entries(headers)) http.getResponse<Response>().setHeader(name, value);
    return true;
  }
}
