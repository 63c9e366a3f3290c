import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Settings } from '#platform/config';
import { senderOf } from '#platform/http';
import { Clock, maxEntries } from '#platform/kernel';

/** Bounds the memory: beyond this number the entries that changed least recently are dropped. */
const MAX_ENTRIES = 50_000;

/**
 * Limits failed authentications by webhook and sender address: a sliding window of exact times, in the memory of this
 * process. It is independent of the rate limit of the webhook, and does not affect other addresses.
 */
@Injectable()
export class AuthFailureLimiter {
  /** Times in milliseconds, oldest first; at most as many as the limit. */
  private readonly failures = new LRUCache<string, number[]>(maxEntries(MAX_ENTRIES));
  /** Senders that have authenticated, in the order of their first success. */
  private readonly authenticated = new LRUCache<string, true>(maxEntries(MAX_ENTRIES));

  constructor(
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  /** Milliseconds until another attempt is allowed; 0 when it is allowed now. */
  waitMs(webhookId: string, address: string): number {
    if (this.failures.size === 0) return 0;
    const times = this.failures.peek(keyOf(webhookId, address));
    const [oldest] = times ?? [];
    if (oldest === undefined || (times?.length ?? 0) < this.settings.webhookAuthFailureLimit) return 0;
    return Math.max(0, oldest + this.settings.webhookAuthFailureWindow - this.clock.now().getTime());
  }

  /** From now on incomplete bodies of this sender do not count as failures. */
  recordSuccess(webhookId: string, address: string): void {
    const key = keyOf(webhookId, address);
    if (!this.authenticated.has(key)) this.authenticated.set(key, true);
  }

  /** An incomplete body counts as a failure: otherwise senders that never authenticate could hold slots at no cost. */
  recordBrokenBody(webhookId: string, address: string): void {
    if (!this.authenticated.has(keyOf(webhookId, address))) this.recordFailure(webhookId, address);
  }

  recordFailure(webhookId: string, address: string): void {
    const key = keyOf(webhookId, address);
    const times = this.failures.get(key) ?? [];
    times.push(this.clock.now().getTime());
    if (times.length > this.settings.webhookAuthFailureLimit) times.shift();
    this.failures.set(key, times);
  }
}

const keyOf = (webhookId: string, address: string): string => `${webhookId} ${senderOf(address)}`;
