import { Module } from '@nestjs/common';
import { DeliveryEvaluators } from './application/delivery-evaluators.js';
import { EvaluateDeliveries } from './application/evaluate-deliveries.js';
import { EvaluationSteps } from './application/evaluation-steps.js';
import { PruneDeliveries } from './application/prune-deliveries.js';
import { EvaluationsStore } from './persistence/evaluations.store.js';
import { PrunesStore } from './persistence/prunes.store.js';

/** What is done with deliveries in the background; for rooms that register an evaluator. */
@Module({
  providers: [EvaluationsStore, PrunesStore, DeliveryEvaluators, EvaluationSteps, EvaluateDeliveries, PruneDeliveries],
  exports: [DeliveryEvaluators, EvaluationSteps, EvaluateDeliveries, PruneDeliveries],
})
export class WebhookEvaluationModule {}
