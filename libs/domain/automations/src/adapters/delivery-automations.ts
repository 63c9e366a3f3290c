import { Extension } from '#platform/plugins';
import { type AcceptedDelivery, type AutomationResult, DeliveryEvaluator } from '#domain/webhooks';
import { FireAutomations } from '../application/fire-automations.js';
import { ForgeDeliveries } from './forge-trigger.js';
import { SlackCommandResponses } from './slack-command-responses.js';
import { isCommand, SlackDeliveries } from './slack-trigger.js';
import { WebhookTrigger } from './webhook-trigger.js';

/** Deliveries start automations with a trigger for their webhook, and those with one for the event in a repository or in Slack. */
@Extension()
export class DeliveryAutomations extends DeliveryEvaluator {
  constructor(
    private readonly webhook: WebhookTrigger,
    private readonly forges: ForgeDeliveries,
    private readonly slack: SlackDeliveries,
    private readonly fire: FireAutomations,
    private readonly commands: SlackCommandResponses,
  ) {
    super();
  }

  override async evaluate(delivery: AcceptedDelivery, signal?: AbortSignal): Promise<readonly AutomationResult[]> {
    const received = this.webhook.eventOf(delivery);
    const ofSlack = await this.slack.eventsOf(delivery, received);
    // Events in a repository or a thread come first: only they can continue a run.
    const results = await this.fire.executeAll(
      [...this.forges.eventsOf(delivery, received), ...ofSlack, received],
      signal,
    );
    if (ofSlack.some(isCommand)) await this.commands.send(delivery, results, signal);
    return results;
  }
}
