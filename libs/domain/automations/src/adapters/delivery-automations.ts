import { Extension } from '#platform/plugins';
import { type AcceptedDelivery, type AutomationResult, DeliveryEvaluator } from '#domain/webhooks';
import { FireAutomations } from '../application/fire-automations.js';
import { ForgeDeliveries } from './forge-trigger.js';
import { WebhookTrigger } from './webhook-trigger.js';

/** Deliveries start automations with a trigger for their webhook, and those with a trigger for the event in a repository. */
@Extension()
export class DeliveryAutomations extends DeliveryEvaluator {
  constructor(
    private readonly webhook: WebhookTrigger,
    private readonly forges: ForgeDeliveries,
    private readonly fire: FireAutomations,
  ) {
    super();
  }

  override async evaluate(delivery: AcceptedDelivery, signal?: AbortSignal): Promise<readonly AutomationResult[]> {
    const received = this.webhook.eventOf(delivery);
    const results = await this.fire.execute(received, signal);
    const event = this.forges.eventOf(delivery, received);
    if (event === null) return results;
    const ofEvent = await this.fire.execute(event, signal);
    // One result for each automation; one that has started a run wins.
    const merged = new Map(results.map((result) => [result.automationUid, result]));
    for (const result of ofEvent)
      if (merged.get(result.automationUid)?.matched !== true) merged.set(result.automationUid, result);
    return [...merged.values()];
  }
}
