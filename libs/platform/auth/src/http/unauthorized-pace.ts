import type { IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { RejectionPace, SenderAddress, senderOf } from '#platform/http';

/** Each is idle three seconds after its last rejection; more than this many at once are a flood from everywhere. */
const MAX_ADDRESSES = 10_000;

/**
 * Holds back 401s beyond API_REJECTION_RATE_LIMIT for each address. A wrong token costs a query, and who tries tokens waits
 * for each answer, so holding the answer slows them down. Valid tokens from the same address are not held back.
 */
@Injectable()
export class UnauthorizedPace {
  private readonly paces = new Map<string, RejectionPace>();

  constructor(
    private readonly settings: Settings,
    private readonly addresses: SenderAddress,
  ) {}

  /** Counts a rejection and waits for its turn; at most two seconds. */
  async hold(request: IncomingMessage): Promise<void> {
    const { apiRejectionRateLimit: perSecond } = this.settings;
    if (perSecond === 0) return;
    const waitMs = this.paceOf(senderOf(this.addresses.of(request)), perSecond).next();
    if (waitMs > 0) await wait(waitMs);
  }

  private paceOf(sender: string, perSecond: number): RejectionPace {
    const known = this.paces.get(sender);
    if (known) return known;
    if (this.paces.size >= MAX_ADDRESSES) this.forgetIdle();
    const pace = new RejectionPace(perSecond);
    this.paces.set(sender, pace);
    return pace;
  }

  private forgetIdle(): void {
    for (const [sender, pace] of this.paces) if (pace.isIdle) this.paces.delete(sender);
    if (this.paces.size >= MAX_ADDRESSES) this.paces.clear();
  }
}
