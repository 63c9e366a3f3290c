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

  override evaluate(delivery: AcceptedDelivery, signal?: AbortSignal): Promise<readonly AutomationResult[]> {
    const received = this.webhook.eventOf(delivery);
    // Events in a repository come first: only they can continue a run.
    return this.fire.executeAll([...this.forges.eventsOf(delivery, received), received], signal);
  }
}
