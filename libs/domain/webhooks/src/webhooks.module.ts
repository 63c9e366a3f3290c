import { Module } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { FactoriesModule } from '#domain/factories';
import { SecretsModule } from '#platform/secrets';
import { CreateWebhook } from './application/create-webhook.js';
import { DefinedWebhookRules } from './application/defined-webhook-rules.js';
import { DefinedWebhooks } from './application/defined-webhooks.js';
import { DeleteWebhook } from './application/delete-webhook.js';
import { FindWebhooks } from './application/find-webhooks.js';
import { ReadDeliveryLog } from './application/read-delivery-log.js';
import { RotateWebhookSecret } from './application/rotate-secret.js';
import { SignDelivery } from './application/sign-delivery.js';
import { UpdateWebhook } from './application/update-webhook.js';
import { WebhookSecretListener } from './application/webhook-secret-listener.js';
import { WebhookSecrets } from './application/webhook-secrets.js';
import { SignatureSchemes } from './domain/signing/signature-schemes.js';
import { SignatureSchemesController } from './http/signature-schemes.controller.js';
import { WebhookChangesController } from './http/webhook-changes.controller.js';
import { WebhookPresenter } from './http/webhook-presenter.js';
import { WebhooksController } from './http/webhooks.controller.js';
import { DefinedWebhooksStore } from './persistence/defined-webhooks.store.js';
import { DeliveriesStore } from './persistence/deliveries.store.js';
import { SecretCopies } from './persistence/secret-copies.js';
import { WebhookPlaces } from './persistence/webhook-places.js';
import { WebhooksStore } from './persistence/webhooks.store.js';
import { signatureSchemesProvider } from './signature-schemes.provider.js';
import { WebhookAccessModule } from './webhook-access.module.js';

const USE_CASES = [
  FindWebhooks,
  CreateWebhook,
  UpdateWebhook,
  RotateWebhookSecret,
  DeleteWebhook,
  DefinedWebhooks,
  ReadDeliveryLog,
  SignDelivery,
];

/** Webhooks as they are managed. Every process in which managed secrets may change has to import it: webhooks follow them. */
@Module({
  imports: [AuthModule, FactoriesModule, SecretsModule, WebhookAccessModule],
  providers: [
    WebhooksStore,
    DefinedWebhooksStore,
    DefinedWebhookRules,
    WebhookPlaces,
    SecretCopies,
    DeliveriesStore,
    WebhookSecrets,
    WebhookSecretListener,
    signatureSchemesProvider,
    ...USE_CASES,
  ],
  exports: [WebhookAccessModule, SignatureSchemes, WebhookSecrets, ...USE_CASES],
})
export class WebhooksModule {}

@Module({
  imports: [FactoriesModule, WebhooksModule],
  providers: [WebhookPresenter],
  controllers: [WebhooksController, WebhookChangesController, SignatureSchemesController],
})
export class WebhooksHttpModule {}
