import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { RejectionDelay } from '#platform/http';
import { IngressMetrics } from './ingress-metrics.js';

/**
 * Delays rejections beyond a rate that regular senders never reach: a sender that repeats as soon as it is answered is
 * slowed down, and processor time remains for deliveries. All rejections are delayed alike, so that the delay reveals
 * nothing about the reason.
 */
@Injectable()
export class RejectionThrottle {
  private readonly delay: RejectionDelay | null;

  constructor(
    settings: Settings,
    private readonly metrics: IngressMetrics,
  ) {
    this.delay =
      settings.ingressRejectionRateLimit === 0 ? null : new RejectionDelay(settings.ingressRejectionRateLimit);
  }

  /** Counts a rejection. Null when it may be answered now, else the delay to await first; at most two seconds. */
  wait(): Promise<void> | null {
    const waitMs = this.delay?.next() ?? 0;
    if (waitMs === 0) return null;
    this.metrics.throttleStarted();
    return sleep(waitMs).finally(() => this.metrics.throttleEnded());
  }
}
