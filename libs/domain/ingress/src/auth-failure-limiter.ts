import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { senderOf } from '#platform/http';
import { Clock } from '#platform/kernel';

/** Beyond that the budgets that were touched longest ago are forgotten: memory is bounded, whoever asks. */
const MAX_BUDGETS = 50_000;

/**
 * How often authentication failed of late, by webhook and sender address: a sliding window of exact times, in the
 * memory of this process. It spends nothing of the webhook's rate, and other addresses do not notice.
 */
@Injectable()
export class FailedAuthBudget {
  /** Milliseconds, oldest first; at most as many as the limit. */
  private readonly failures = new Map<string, number[]>();
  /** Those that have authenticated, the latest to do so for the first time last. */
  private readonly authentic = new Set<string>();

  constructor(
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  /** Milliseconds until another attempt may be made; 0 when one may be made now. */
  waitMs(webhookId: string, address: string): number {
    if (this.failures.size === 0) return 0;
    const times = this.failures.get(keyOf(webhookId, address));
    const [oldest] = times ?? [];
    if (oldest === undefined || (times?.length ?? 0) < this.settings.webhookAuthFailures) return 0;
    return Math.max(0, oldest + this.settings.webhookAuthFailureWindow - this.clock.now().getTime());
  }

  /** The sender has authenticated: from now on bodies that break off count as accidents. */
  prove(webhookId: string, address: string): void {
    const key = keyOf(webhookId, address);
    if (this.authentic.has(key)) return;
    this.authentic.add(key);
    if (this.authentic.size <= MAX_BUDGETS) return;
    const [oldest] = this.authentic;
    if (oldest !== undefined) this.authentic.delete(oldest);
  }

  /** A body that did not arrive: senders that never authenticate could hold slots at no cost. */
  spendOnBrokenBody(webhookId: string, address: string): void {
    if (!this.authentic.has(keyOf(webhookId, address))) this.spend(webhookId, address);
  }

  spend(webhookId: string, address: string): void {
    const key = keyOf(webhookId, address);
    const times = this.failures.get(key) ?? [];
    times.push(this.clock.now().getTime());
    if (times.length > this.settings.webhookAuthFailures) times.shift();
    this.failures.delete(key);
    this.failures.set(key, times);
    if (this.failures.size <= MAX_BUDGETS) return;
    const [stalest] = this.failures.keys();
    if (stalest !== undefined) this.failures.delete(stalest);
  }
}

const keyOf = (webhookId: string, address: string): string => `${webhookId} ${senderOf(address)}`;
