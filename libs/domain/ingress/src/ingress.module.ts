import { Module } from '@nestjs/common';
import { SenderAddress } from '#platform/http';
import { ObservabilityModule } from '#platform/observability';
import { SecretsModule } from '#platform/secrets';
import { IngressAuthModes, signatureSchemesProvider, WebhookSecrets } from '#domain/webhooks';
import { AcceptDelivery } from './accept-delivery.js';
import { AuthFailureLimiter } from './auth-failure-limiter.js';
import { Authenticators } from './authenticators.js';
import { BodyConcurrencyLimiter } from './body-concurrency-limiter.js';
import { DeliveryWriter } from './delivery-writer.js';
import { IngressHandler } from './ingress-handler.js';
import { IngressMetrics } from './ingress-metrics.js';
import { IngressWebhooks } from './ingress-webhooks.js';
import { RejectionLog } from './rejection-log.js';

/** The pipeline of deliveries. Needs persistence, settings and the clock. */
@Module({
  imports: [ObservabilityModule, SecretsModule],
  providers: [
    WebhookSecrets,
    signatureSchemesProvider,
    SenderAddress,
    IngressMetrics,
    IngressWebhooks,
    IngressAuthModes,
    Authenticators,
    AuthFailureLimiter,
    BodyConcurrencyLimiter,
    RejectionLog,
    DeliveryWriter,
    AcceptDelivery,
    IngressHandler,
  ],
  exports: [IngressMetrics],
})
export class WebhookIngressModule {}
