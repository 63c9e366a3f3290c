import { Module } from '@nestjs/common';
import { ObservabilityModule } from '#platform/observability';
import { DeliveryEvaluators } from './application/delivery-evaluators.js';
import { EvaluateDeliveries } from './application/evaluate-deliveries.js';
import { EvaluationMeters } from './application/evaluation-meters.js';
import { EvaluationSteps } from './application/evaluation-steps.js';
import { PruneDeliveries } from './application/prune-deliveries.js';
import { EvaluationsStore } from './persistence/evaluations.store.js';
import { PrunesStore } from './persistence/prunes.store.js';

/** What is done with deliveries in the background; for rooms that register an evaluator. */
@Module({
  imports: [ObservabilityModule],
  providers: [
    EvaluationsStore,
    PrunesStore,
    DeliveryEvaluators,
    EvaluationMeters,
    EvaluationSteps,
    EvaluateDeliveries,
    PruneDeliveries,
  ],
  exports: [DeliveryEvaluators, EvaluationSteps, EvaluateDeliveries, PruneDeliveries],
})
export class WebhookEvaluationModule {}
