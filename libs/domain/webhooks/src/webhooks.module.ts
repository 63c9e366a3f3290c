import { type FactoryProvider, Module } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { AuthModule } from '#platform/auth';
import { FactoriesModule } from '#domain/factories';
import { ObservabilityModule } from '#platform/observability';
import { extensionsOf } from '#platform/plugins';
import { SecretsModule } from '#platform/secrets';
import { DefinedWebhooks } from './application/defined-webhooks.js';
import { DeliveriesService } from './application/deliveries.service.js';
import { DeliveryEvaluators } from './application/delivery-evaluator.js';
import { EvaluateDeliveries, EvaluationMetrics } from './application/evaluate-deliveries.js';
import { IngressAuthModes } from './application/ingress-auth-modes.js';
import { SignDelivery } from './application/sign-delivery.js';
import { WebhookDirectory } from './application/webhook-directory.js';
import { WebhookSecretListener } from './application/webhook-secret-listener.js';
import { WebhookSecrets } from './application/webhook-secrets.js';
import { WebhooksService } from './application/webhooks.service.js';
import { SignatureScheme } from './domain/signing/signature-scheme.js';
import { SIGNATURE_SCHEMES, SignatureSchemes } from './domain/signing/signature-schemes.js';
import { DeliveriesController } from './http/deliveries.controller.js';
import { WebhookPresenter } from './http/webhook-presenter.js';
import { SignatureSchemesController, WebhooksController } from './http/webhooks.controller.js';
import { WebhookJobs } from './jobs/webhook-jobs.js';
import { DeliveriesStore } from './persistence/deliveries.store.js';
import { EvaluationsStore } from './persistence/evaluations.store.js';
import { PruneDeliveries } from './persistence/prune-deliveries.js';
import { WebhooksStore } from './persistence/webhooks.store.js';

export const signatureSchemesProvider: FactoryProvider<SignatureSchemes> = {
  provide: SignatureSchemes,
  inject: [DiscoveryService],
  useFactory: (discovery: DiscoveryService) =>
    new SignatureSchemes(SIGNATURE_SCHEMES, () => extensionsOf(discovery, SignatureScheme)),
};

/**
 * The management of webhooks. Every process in which managed secrets may change imports it, because webhooks keep copies
 * of them.
 */
@Module({
  imports: [AuthModule, FactoriesModule, SecretsModule],
  providers: [
    WebhooksStore,
    DeliveriesStore,
    WebhookSecrets,
    WebhookSecretListener,
    signatureSchemesProvider,
    IngressAuthModes,
    WebhooksService,
    DefinedWebhooks,
    SignDelivery,
    WebhookDirectory,
    DeliveryEvaluators,
  ],
  exports: [
    WebhooksStore,
    WebhooksService,
    DeliveriesStore,
    DefinedWebhooks,
    SignDelivery,
    WebhookDirectory,
    SignatureSchemes,
    IngressAuthModes,
    DeliveryEvaluators,
  ],
})
export class WebhooksModule {}

@Module({
  imports: [FactoriesModule, WebhooksModule],
  providers: [WebhookPresenter, DeliveriesService],
  controllers: [WebhooksController, SignatureSchemesController, DeliveriesController],
})
export class WebhooksHttpModule {}

export const EVALUATION_PROVIDERS = [EvaluationsStore, EvaluationMetrics, EvaluateDeliveries, PruneDeliveries];

/** For the processor: evaluates and prunes deliveries as background tasks. */
@Module({ imports: [ObservabilityModule, WebhooksModule], providers: [...EVALUATION_PROVIDERS, WebhookJobs] })
export class WebhooksJobsModule {}
