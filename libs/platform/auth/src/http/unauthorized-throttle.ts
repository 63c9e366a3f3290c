import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { RejectionDelay, SenderAddress, senderOf } from '#platform/http';

/** An entry is idle three seconds after its last rejection; more entries than this are removed. */
const MAX_ADDRESSES = 10_000;

/**
 * Delays 401 responses beyond API_REJECTION_RATE_LIMIT per address. A wrong token costs a query, and a client that guesses
 * tokens waits for each response, so the delay limits it. Requests with valid tokens from the same address are not delayed.
 */
@Injectable()
export class UnauthorizedThrottle {
  private readonly delays = new Map<string, RejectionDelay>();

  constructor(
    private readonly settings: Settings,
    private readonly addresses: SenderAddress,
  ) {}

  /** Counts a rejection and waits for its delay, at most two seconds. */
  async wait(request: IncomingMessage): Promise<void> {
    const { apiRejectionRateLimit: perSecond } = this.settings;
    if (perSecond === 0) return;
    const waitMs = this.delayOf(senderOf(this.addresses.of(request)), perSecond).next();
    if (waitMs > 0) await delay(waitMs);
  }

  private delayOf(sender: string, perSecond: number): RejectionDelay {
    const known = this.delays.get(sender);
    if (known) return known;
    if (this.delays.size >= MAX_ADDRESSES) this.forgetIdle();
    const delay = new RejectionDelay(perSecond);
    this.delays.set(sender, delay);
    return delay;
  }

  private forgetIdle(): void {
    for (const [sender, delay] of this.delays) if (delay.isIdle) this.delays.delete(sender);
    if (this.delays.size >= MAX_ADDRESSES) this.delays.clear();
  }
}
