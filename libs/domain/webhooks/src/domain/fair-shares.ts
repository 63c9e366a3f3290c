/** Deliveries of one factory that are evaluated in one go: what another has waiting does not wait for all of it. */
export const FACTORY_SHARE = 8;

/** A webhook that has deliveries to evaluate. */
export interface WaitingWebhook {
  readonly webhookId: string;
  readonly factoryUid: string;
}

/** How many deliveries of one webhook are taken in one go. */
export interface WebhookTurn {
  readonly webhookId: string;
  readonly share: number;
}

/**
 * What each factory may have evaluated in a lap, however many webhooks its deliveries come to: at most 8. Its webhooks
 * share them; of more than 8 others have their turn in the next lap.
 */
export function fairShares(waiting: readonly WaitingWebhook[], lap: number): WebhookTurn[][] {
  const byFactory = new Map<string, string[]>();
  for (const { webhookId, factoryUid } of waiting) {
    const ids = byFactory.get(factoryUid);
    if (ids) ids.push(webhookId);
    else byFactory.set(factoryUid, [webhookId]);
  }
  return [...byFactory.values()].map((ids) => turnsOf(ids, lap));
}

function turnsOf(webhookIds: readonly string[], lap: number): WebhookTurn[] {
  const count = Math.min(webhookIds.length, FACTORY_SHARE);
  const share = Math.floor(FACTORY_SHARE / count);
  const first = (lap * count) % webhookIds.length;
  return Array.from({ length: count }, (_, index) => ({
    webhookId: webhookIds[(first + index) % webhookIds.length] ?? '',
    share: share + (index < FACTORY_SHARE % count ? 1 : 0),
  }));
}
