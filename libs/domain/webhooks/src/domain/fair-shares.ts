/** Deliveries of one factory in a batch, so that other factories do not wait for all of its deliveries. */
export const FACTORY_SHARE = 8;

export interface WaitingWebhook {
  readonly webhookId: string;
  readonly factoryUid: string;
}

export interface WebhookShare {
  readonly webhookId: string;
  readonly share: number;
}

/**
 * The deliveries that each factory may have evaluated in a round: at most 8, shared by its webhooks. With more than 8
 * webhooks the next ones follow in the next round.
 */
export function fairShares(waiting: readonly WaitingWebhook[], round: number): WebhookShare[][] {
  const byFactory = new Map<string, string[]>();
  for (const { webhookId, factoryUid } of waiting) {
    const ids = byFactory.get(factoryUid);
    if (ids) ids.push(webhookId);
    else byFactory.set(factoryUid, [webhookId]);
  }
  return [...byFactory.values()].map((ids) => sharesOf(ids, round));
}

function sharesOf(webhookIds: readonly string[], round: number): WebhookShare[] {
  const count = Math.min(webhookIds.length, FACTORY_SHARE);
  const share = Math.floor(FACTORY_SHARE / count);
  const first = (round * count) % webhookIds.length;
  return Array.from({ length: count }, (_, index) => ({
    webhookId: webhookIds[(first + index) % webhookIds.length] ?? '',
    share: share + (index < FACTORY_SHARE % count ? 1 : 0),
  }));
}
