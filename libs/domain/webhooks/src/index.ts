export { DefinedWebhooks } from './application/defined-webhooks.js';
export { type AcceptedDelivery, DeliveryEvaluator, DeliveryEvaluators } from './application/delivery-evaluator.js';
export {
  EvaluateDeliveries,
  type EvaluationStep,
  EvaluationSteps,
  FACTORIES_PER_BATCH,
} from './application/evaluate-deliveries.js';
export { PruneDeliveries } from './application/prune-deliveries.js';
export { SignDelivery, type SignedDelivery } from './application/sign-delivery.js';
export { WebhookDirectory } from './application/webhook-directory.js';
export { WEBHOOKS_ENCRYPTED_COLUMNS, WebhookSecrets } from './application/webhook-secrets.js';
export { EVALUATE_DELIVERIES_TASK } from './application/webhook-tasks.js';
export { WebhooksService } from './application/webhooks.service.js';
export {
  type AutomationResult,
  DELIVERY_OUTCOMES,
  type DeliveryIdentity,
  type DeliveryOutcome,
  type OutcomeCode,
} from './domain/delivery.js';
export { identityKey, identityOf, isIdentityAmbiguous, signatureKey } from './domain/delivery-identity.js';
export { fairShares } from './domain/fair-shares.js';
export { type IncomingRequest, RawHeaders } from './domain/signing/incoming-request.js';
export type { HandshakeAnswer, SecretBringingHandshake, SignatureScheme } from './domain/signing/signature-scheme.js';
export { SignatureSchemes } from './domain/signing/signature-schemes.js';
export {
  AUTH_MODES,
  type AuthMode,
  type DefinedWebhook,
  ingressUrl,
  type ManagedWebhook,
  MAX_WEBHOOKS_PER_FACTORY,
  type WebhookSettings,
} from './domain/webhook.js';
export {
  EVALUATION_PROVIDERS,
  signatureSchemesProvider,
  WebhooksHttpModule,
  WebhooksJobsModule,
  WebhooksModule,
} from './webhooks.module.js';
