import { setTimeout as wait } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { RejectionPace } from '#platform/http';
import { IngressMeters } from './ingress-metrics.js';

/**
 * Beyond a rate that honest senders never come near, answers to refused requests are held back: a sender that repeats as
 * fast as it is answered is slowed down, and processor time is left to deliveries. Every refusal is paced alike, so that
 * waiting tells nothing of what was refused.
 */
@Injectable()
export class RefusalPace {
  private readonly pace: RejectionPace | null;

  constructor(
    settings: Settings,
    private readonly meters: IngressMeters,
  ) {
    this.pace = settings.ingressRefusalRate === 0 ? null : new RejectionPace(settings.ingressRefusalRate);
  }

  /** Counts a refusal. Returns null when it may be answered now, else what to wait for first; at most two seconds. */
  hold(): Promise<void> | null {
    const waitMs = this.pace?.next() ?? 0;
    if (waitMs === 0) return null;
    this.meters.refusalHeld();
    return wait(waitMs).finally(() => this.meters.refusalLetGo());
  }
}
