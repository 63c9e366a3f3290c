import { Module } from '@nestjs/common';
import { SenderAddress } from '#platform/http';
import { ObservabilityModule } from '#platform/observability';
import { SecretsModule } from '#platform/secrets';
import { WebhookSecrets } from './application/webhook-secrets.js';
import { IngressAuthModes } from './ingress/auth-modes.js';
import { EvaluationNudgeModule } from './evaluation-nudge.module.js';
import { BodySlots } from './ingress/body-slots.js';
import { CapturedSecrets } from './ingress/captured-secrets.js';
import { WebhookDeliveriesController } from './ingress/deliveries.controller.js';
import { DeliveryDoor } from './ingress/delivery-door.js';
import { DeliveryChecks } from './ingress/delivery-checks.js';
import { Exchanges } from './ingress/exchanges.js';
import { FailedAuthBudget } from './ingress/failed-auth-budget.js';
import { IngressAuthGuard } from './ingress/ingress-auth.guard.js';
import { IngressMeters } from './ingress/ingress-meters.js';
import { IngressWebhooks } from './ingress/ingress-webhooks.js';
import { RefusalPace } from './ingress/refusal-pace.js';
import { RejectionLog } from './ingress/rejection-log.js';
import { TakeDelivery } from './ingress/take-delivery.js';
import { TakenDeliveries } from './ingress/taken-deliveries.js';
import { signatureSchemesProvider } from './signature-schemes.provider.js';

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
export class WebhooksIngressModule {}
