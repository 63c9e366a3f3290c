import { Injectable } from '@nestjs/common';
import { Settings } from '#libs/config';
import { Clock } from '#libs/kernel';

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

  constructor(
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  /** Milliseconds until another attempt may be made; 0 when one may be made now. */
  waitMs(webhookId: string, address: string): number {
    const times = this.failures.get(keyOf(webhookId, address));
    const [oldest] = times ?? [];
    if (oldest === undefined || (times?.length ?? 0) < this.settings.webhookAuthFailures) return 0;
    return Math.max(0, oldest + this.settings.webhookAuthFailureWindow - this.clock.now().getTime());
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

/** One IPv6 sender has a whole /64 to itself. Addresses are well-formed here, so a look at them tells which they are. */
function keyOf(webhookId: string, address: string): string {
  return `${webhookId} ${address.includes(':') && !address.includes('.') ? prefix64(address) : address}`;
}

function prefix64(address: string): string {
  const [head = '', tail] = address.split('::');
  const start = head === '' ? [] : head.split(':');
  const rest = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - start.length - rest.length;
  return [...start, ...Array.from({ length: zeros }, () => '0'), ...rest].slice(0, 4).join(':');
}
