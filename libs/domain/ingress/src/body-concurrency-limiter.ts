import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Metrics } from '#platform/observability';
import { IngressMetrics } from './ingress-metrics.js';

export interface SlotRequest {
  readonly webhookId: string;
  /** As `senderOf` returns it. */
  readonly sender: string;
  /** Stops receiving the body: another one needs its slot. */
  readonly interrupt: () => void;
}

/** The memory of one body, from its first byte until its response is finished. */
export class BodySlot {
  readonly since = performance.now();
  isArriving = true;

  constructor(
    readonly request: SlotRequest,
    private readonly close: (slot: BodySlot) => void,
  ) {}

  /** The body is complete: from now on it is not interrupted for another one. */
  complete(): void {
    this.isArriving = false;
  }

  /** Must be called exactly once. */
  release(): void {
    this.close(this);
  }
}

/** One webhook may use a quarter of the slots, one sender an eighth once slots are scarce. */
const WEBHOOK_PART = 4;
const SENDER_PART = 8;
/** A regular body of 256 KB arrives within this time; a slower one may be interrupted for any other. */
const SLOW_MS = 1000;
const WARN_INTERVAL_MS = 60_000;

/**
 * Bounds the number of bodies in memory, in total and for each webhook. Senders are limited only when slots are scarce,
 * because behind a proxy that is not trusted all senders have one address. Then a sender with more than an eighth of the
 * slots loses its oldest incomplete body to a sender with fewer, and a body that has been arriving for a second may be
 * interrupted for any other.
 */
@Injectable()
export class BodyConcurrencyLimiter {
  private readonly logger = new Logger(BodyConcurrencyLimiter.name);
  private readonly open = new Set<BodySlot>();
  private readonly byWebhook = new Map<string, number>();
  private readonly limit: number;
  private readonly webhookLimit: number;
  private rejected = 0;
  private warnedAt = -Infinity;

  constructor(
    settings: Settings,
    private readonly metrics: IngressMetrics,
    registry: Metrics,
  ) {
    this.limit = settings.ingressMaxConcurrentBodies;
    this.webhookLimit = Math.ceil(this.limit / WEBHOOK_PART);
    registry.observed('headrace_ingress_bodies', 'Bodies that are being received or processed.', () => this.open.size);
  }

  /** Null when no slot is free and no body may be interrupted. */
  acquire(request: SlotRequest): BodySlot | null {
    const { webhookId } = request;
    const isWebhookFull = (this.byWebhook.get(webhookId) ?? 0) >= this.webhookLimit;
    if (isWebhookFull || this.open.size >= this.limit) {
      // A slot of the same webhook also counts against the total: one interrupted body satisfies both limits.
      const contested = [...this.open].filter((slot) => !isWebhookFull || slot.request.webhookId === webhookId);
      const limit = isWebhookFull ? this.webhookLimit : this.limit;
      const interrupted = this.findInterruptible(contested, limit, request);
      if (interrupted === undefined) {
        this.warn(request);
        return null;
      }
      this.metrics.interrupted.inc();
      interrupted.request.interrupt();
    }
    const slot = new BodySlot(request, this.close);
    this.open.add(slot);
    this.byWebhook.set(webhookId, (this.byWebhook.get(webhookId) ?? 0) + 1);
    return slot;
  }

  /** `contested`: the slots that share `limit`. */
  private findInterruptible(
    contested: readonly BodySlot[],
    limit: number,
    { sender }: SlotRequest,
  ): BodySlot | undefined {
    const held = new Map<string, number>();
    for (const { request } of contested) held.set(request.sender, (held.get(request.sender) ?? 0) + 1);
    const share = Math.ceil(limit / SENDER_PART);
    const hasShare = (held.get(sender) ?? 0) >= share;
    const slowSince = performance.now() - SLOW_MS;
    const arriving = contested.filter(({ isArriving }) => isArriving);
    return hasShare
      ? arriving.find((slot) => slot.request.sender === sender && slot.since <= slowSince)
      : (arriving.find(({ request }) => (held.get(request.sender) ?? 0) > share) ??
          arriving.find((slot) => slot.since <= slowSince));
  }

  private readonly close = (slot: BodySlot): void => {
    if (!this.open.delete(slot)) return;
    const { webhookId } = slot.request;
    const own = this.byWebhook.get(webhookId) ?? 0;
    if (own <= 1) this.byWebhook.delete(webhookId);
    else this.byWebhook.set(webhookId, own - 1);
  };

  /** At most one line a minute, because a flood would fill the log. */
  private warn({ sender }: SlotRequest): void {
    this.rejected += 1;
    const now = performance.now();
    if (now - this.warnedAt < WARN_INTERVAL_MS) return;
    this.logger.warn(
      `Deliveries are rejected with 503: ${this.open.size} of ${this.limit} body slots are in use (INGRESS_MAX_CONCURRENT_BODIES), at most ${this.webhookLimit} by one webhook. ${this.rejected} deliveries since the last such line, the latest from ${sender}.`,
    );
    this.warnedAt = now;
    this.rejected = 0;
  }
}
