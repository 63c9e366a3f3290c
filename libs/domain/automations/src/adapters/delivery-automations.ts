import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type AcceptedDelivery, type AutomationResult, DeliveryEvaluator, DeliveryEvaluators } from '#domain/webhooks';
import { WebhookTrigger } from './webhook-trigger.js';
import { FireAutomations } from '../application/fire-automations.js';

/** Accepted deliveries start automations. */
@Injectable()
export class DeliveryAutomations extends DeliveryEvaluator implements OnModuleInit {
  constructor(
    private readonly trigger: WebhookTrigger,
    private readonly fire: FireAutomations,
    private readonly evaluators: DeliveryEvaluators,
  ) {
    super();
  }

  onModuleInit(): void {
    this.evaluators.register(this);
  }

  override evaluate(delivery: AcceptedDelivery, signal?: AbortSignal): Promise<readonly AutomationResult[]> {
    return this.fire.execute(this.trigger.eventOf(delivery), signal);
  }
}
