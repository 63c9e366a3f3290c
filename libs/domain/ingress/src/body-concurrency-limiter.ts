import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { IngressMeters } from './ingress-metrics.js';

/** The memory of one body, from the start of its arrival until its answer is out. */
export interface BodySlot {
  /** The body is complete: from now on it does not yield. */
  arrived(): void;
  /** To be called once. */
  release(): void;
}

export interface SlotRequest {
  readonly webhookId: string;
  /** As `senderOf` writes it. */
  readonly sender: string;
  /** Ends the arrival of the body: its slot has been given to another one. */
  readonly cutOff: () => void;
}

class OpenSlot implements BodySlot {
  readonly since = performance.now();
  isArriving = true;

  constructor(
    readonly request: SlotRequest,
    private readonly close: (slot: OpenSlot) => void,
  ) {}

  arrived(): void {
    this.isArriving = false;
  }

  release(): void {
    this.close(this);
  }
}

const WEBHOOK_PART = 4;
const SENDER_PART = 8;
/** An honest body of 256 KB has arrived by then; one that has not may yield to any other. */
const SLOW_MS = 1000;
const WARN_INTERVAL_MS = 60_000;

/**
 * Bounds the bodies that are in memory at a time, and of those one webhook's part. While there are slots, nobody is
 * limited further: behind a proxy that is not trusted, all senders have one address. When slots run short, a sender that
 * holds more than an eighth of them yields to those that hold less, its longest arriving body first; and a body that has
 * been arriving for a second yields to any other.
 */
@Injectable()
export class BodySlots {
  private readonly logger = new Logger(BodySlots.name);
  /** In the order of their arrival. */
  private readonly open = new Set<OpenSlot>();
  private readonly byWebhook = new Map<string, number>();
  private readonly limit: number;
  private readonly webhookLimit: number;
  private refused = 0;
  private warnedAt = -Infinity;

  constructor(
    settings: Settings,
    private readonly meters: IngressMeters,
  ) {
    this.limit = settings.ingressMaxBodies;
    this.webhookLimit = Math.ceil(this.limit / WEBHOOK_PART);
    meters.watchBodies(() => this.open.size);
  }

  /** Null when there is no slot, and none that yields. */
  take(request: SlotRequest): BodySlot | null {
    const { webhookId } = request;
    const isWebhookFull = (this.byWebhook.get(webhookId) ?? 0) >= this.webhookLimit;
    if (isWebhookFull || this.open.size >= this.limit) {
      // A slot of the same webhook is one of all slots, too: one body yields for both limits.
      const yielding = isWebhookFull
        ? this.findYielding(
            [...this.open].filter((slot) => slot.request.webhookId === webhookId),
            this.webhookLimit,
            request,
          )
        : this.findYielding([...this.open], this.limit, request);
      if (yielding === undefined) {
        this.warn(request);
        return null;
      }
      this.meters.bodyYielded();
      yielding.request.cutOff();
    }
    const slot = new OpenSlot(request, this.close);
    this.open.add(slot);
    this.byWebhook.set(webhookId, (this.byWebhook.get(webhookId) ?? 0) + 1);
    return slot;
  }

  /** `contested`: the slots of which there are `limit`. */
  private findYielding(contested: readonly OpenSlot[], limit: number, { sender }: SlotRequest): OpenSlot | undefined {
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

  private readonly close = (slot: OpenSlot): void => {
    if (!this.open.delete(slot)) return;
    const { webhookId } = slot.request;
    const own = this.byWebhook.get(webhookId) ?? 0;
    if (own <= 1) this.byWebhook.delete(webhookId);
    else this.byWebhook.set(webhookId, own - 1);
  };

  /** At most one line a minute: a flood would fill the log. */
  private warn({ sender }: SlotRequest): void {
    this.refused += 1;
    const now = performance.now();
    if (now - this.warnedAt < WARN_INTERVAL_MS) return;
    this.logger.warn(
      `Deliveries are answered 503: ${this.open.size} of ${this.limit} body slots are in use (INGRESS_MAX_BODIES), and one webhook gets ${this.webhookLimit}. ${this.refused} since the last such line, the latest from ${sender}.`,
    );
    this.warnedAt = now;
    this.refused = 0;
  }
}
