import { Injectable } from '@nestjs/common';
import { Settings } from '#libs/config';

/** Bounds the bodies that are in memory at a time, and of those one webhook's share. */
@Injectable()
export class BodySlots {
  private taken = 0;
  private readonly byWebhook = new Map<string, number>();
  private readonly limit: number;
  private readonly share: number;

  constructor(settings: Settings) {
    this.limit = settings.ingressMaxBodies;
    this.share = Math.ceil(settings.ingressMaxBodies / 4);
  }

  /** What gives the place back, to be called once; null when there is none left. */
  take(webhookId: string): (() => void) | null {
    const own = this.byWebhook.get(webhookId) ?? 0;
    if (this.taken >= this.limit || own >= this.share) return null;
    this.taken += 1;
    this.byWebhook.set(webhookId, own + 1);
    return () => this.release(webhookId);
  }

  private release(webhookId: string): void {
    this.taken -= 1;
    const own = this.byWebhook.get(webhookId) ?? 0;
    if (own <= 1) this.byWebhook.delete(webhookId);
    else this.byWebhook.set(webhookId, own - 1);
  }
}
