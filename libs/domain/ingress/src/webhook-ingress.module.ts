import { Module } from '@nestjs/common';
import { SenderAddress } from '#platform/http';
import { ObservabilityModule } from '#platform/observability';
import { SecretsModule } from '#platform/secrets';
import { WebhookSecrets } from '#domain/webhooks';
import { IngressAuthModes } from './auth-modes.js';
import { EvaluationNudgeModule } from '#domain/webhooks';
import { BodySlots } from './body-concurrency-limiter.js';
import { CapturedSecrets } from './captured-secrets.js';
import { WebhookDeliveriesController } from './deliveries.controller.js';
import { DeliveryDoor } from './ingress-handler.js';
import { DeliveryChecks } from './delivery-checks.js';
import { Exchanges } from './ingress-requests.js';
import { FailedAuthBudget } from './auth-failure-limiter.js';
import { IngressAuthGuard } from './ingress-auth.guard.js';
import { IngressMeters } from './ingress-metrics.js';
import { IngressWebhooks } from './ingress-webhooks.js';
import { RefusalPace } from './rejection-throttle.js';
import { RejectionLog } from './rejection-log.js';
import { TakeDelivery } from './accept-delivery.js';
import { TakenDeliveries } from './delivery-writer.js';
import { signatureSchemesProvider } from '#domain/webhooks';

/** What the ingress serves. Needs persistence, settings and the clock; speaks to no other room. */
@Module({
  imports: [ObservabilityModule, SecretsModule, EvaluationNudgeModule],
  controllers: [WebhookDeliveriesController],
  providers: [
    WebhookSecrets,
    signatureSchemesProvider,
    IngressMeters,
    IngressWebhooks,
    IngressAuthModes,
    FailedAuthBudget,
    BodySlots,
    RejectionLog,
    CapturedSecrets,
    TakenDeliveries,
    Exchanges,
    DeliveryChecks,
    DeliveryDoor,
    RefusalPace,
    SenderAddress,
    IngressAuthGuard,
    TakeDelivery,
  ],
  exports: [IngressMeters],
})
export class WebhookIngressModule {}
