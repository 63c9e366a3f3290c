import { Module } from '@nestjs/common';
import { ObservabilityModule } from '#platform/observability';
import { DeliveryEvaluators } from './application/delivery-evaluator.js';
import { EvaluateDeliveries, EvaluationMetrics, EvaluationSteps } from './application/evaluate-deliveries.js';
import { PruneDeliveries } from './application/prune-deliveries.js';
import { EvaluationsStore } from './persistence/evaluations.store.js';
import { PrunesStore } from './persistence/prunes.store.js';
import { EvaluationLoop } from './jobs/evaluation-loop.js';

/** The evaluation and the pruning of deliveries, for libraries that register a `DeliveryEvaluator`. */
@Module({
  imports: [ObservabilityModule],
  providers: [
    EvaluationsStore,
    PrunesStore,
    DeliveryEvaluators,
    EvaluationMetrics,
    EvaluationSteps,
    EvaluateDeliveries,
    PruneDeliveries,
  ],
  exports: [DeliveryEvaluators, EvaluationSteps, EvaluateDeliveries, PruneDeliveries],
})
export class WebhookEvaluationModule {}

/** For the processor: evaluates and prunes deliveries. */
@Module({
  imports: [WebhookEvaluationModule],
  providers: [EvaluationLoop],
})
export class WebhooksJobsModule {}
