import { setTimeout as wait } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Settings } from '#libs/config';
import { IngressMeters } from './ingress-meters.js';

/** Nobody waits longer for a no: senders give up, and proxies in front of us have connections to lose. */
const MAX_WAIT_MS = 2000;

/**
 * Beyond a rate that honest senders never come near, answers to refused requests are held back: who knocks as fast as it
 * is answered is slowed down, and processor time is left to those who deliver. Every refusal is paced alike, so that
 * waiting tells nothing of what was refused.
 */
@Injectable()
export class RefusalPace {
  private readonly perMs: number;
  /** Refusals of the last second may come at once. */
  private readonly burst: number;
  private backlog = 0;
  private since = performance.now();

  constructor(
    settings: Settings,
    private readonly meters: IngressMeters,
  ) {
    this.perMs = settings.ingressRefusalRate / 1000;
    this.burst = settings.ingressRefusalRate;
  }

  /** Counts a refusal. Returns null when it may be answered now, else what to wait for first; at most two seconds. */
  hold(): Promise<void> | null {
    if (this.perMs === 0) return null;
    const now = performance.now();
    this.backlog = Math.max(0, this.backlog - (now - this.since) * this.perMs) + 1;
    this.since = now;
    const waitMs = (this.backlog - this.burst) / this.perMs;
    if (waitMs <= 0) return null;
    // More than can be worked off in that time is not remembered: the rate then follows the number of connections.
    this.backlog = Math.min(this.backlog, this.burst + MAX_WAIT_MS * this.perMs);
    this.meters.refusalHeld();
    return wait(Math.min(waitMs, MAX_WAIT_MS)).finally(() => this.meters.refusalLetGo());
  }
}
