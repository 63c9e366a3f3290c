import { type ClassProvider, type FactoryProvider, Module } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { FactoriesModule } from '#domain/factories';
import { SecretsModule } from '#platform/secrets';
import { DefinedWebhooks } from './application/defined-webhooks.js';
import { DeliveriesService } from './application/deliveries.service.js';
import { EvaluationNudge } from './application/delivery-evaluator.js';
import { RedeliverDelivery } from './application/redeliver-delivery.js';
import { SignDelivery } from './application/sign-delivery.js';
import { WebhookDirectory } from './application/webhook-directory.js';
import { WebhookSecretListener } from './application/webhook-secret-listener.js';
import { WebhookSecrets } from './application/webhook-secrets.js';
import { WebhooksService } from './application/webhooks.service.js';
import { SIGNATURE_SCHEMES, SignatureSchemes } from './domain/signing/signature-schemes.js';
import { DeliveriesController } from './http/deliveries.controller.js';
import { WebhookPresenter } from './http/webhook-presenter.js';
import { SignatureSchemesController, WebhooksController } from './http/webhooks.controller.js';
import { QueueEvaluationNudge } from './jobs/queue-evaluation-nudge.js';
import { DeliveriesStore } from './persistence/deliveries.store.js';
import { SecretCopies } from './persistence/secret-copies.js';
import { WebhooksStore } from './persistence/webhooks.store.js';

export const signatureSchemesProvider: FactoryProvider<SignatureSchemes> = {
  provide: SignatureSchemes,
  useFactory: () => new SignatureSchemes(SIGNATURE_SCHEMES),
};

/** For every process that accepts or redelivers deliveries. Needs `JobsModule`. */
export const evaluationNudgeProvider: ClassProvider<EvaluationNudge> = {
  provide: EvaluationNudge,
  useClass: QueueEvaluationNudge,
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
    SecretCopies,
    WebhookSecrets,
    WebhookSecretListener,
    signatureSchemesProvider,
    WebhooksService,
    DeliveriesService,
    DefinedWebhooks,
    SignDelivery,
    WebhookDirectory,
  ],
  exports: [
    WebhooksService,
    DeliveriesService,
    DeliveriesStore,
    DefinedWebhooks,
    SignDelivery,
    WebhookDirectory,
    SignatureSchemes,
  ],
})
export class WebhooksModule {}

@Module({
  imports: [FactoriesModule, WebhooksModule],
  providers: [WebhookPresenter, RedeliverDelivery, evaluationNudgeProvider],
  controllers: [WebhooksController, SignatureSchemesController, DeliveriesController],
})
export class WebhooksHttpModule {}
