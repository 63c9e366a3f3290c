import { Injectable } from '@nestjs/common';
import type { AutomationResult } from '../domain/delivery.js';
import type { AcceptedDelivery, DeliveryEvaluator } from './ports.js';

/** Everybody who acts on deliveries. With nobody registered no delivery has a result. */
@Injectable()
export class DeliveryEvaluators {
  private readonly evaluators = new Set<DeliveryEvaluator>();

  register(evaluator: DeliveryEvaluator): void {
    this.evaluators.add(evaluator);
  }

  /** All results, in the order of registration. Rejects when one evaluator does: then all are asked again. */
  async evaluate(delivery: AcceptedDelivery, signal?: AbortSignal): Promise<readonly AutomationResult[]> {
    const results: AutomationResult[] = [];
    for (const evaluator of this.evaluators) results.push(...(await evaluator.evaluate(delivery, signal)));
    return results;
  }
}
