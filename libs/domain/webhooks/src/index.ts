export { DeliveryEvaluators } from './application/delivery-evaluators.js';
export { EvaluateDeliveries, FACTORIES_AT_ONCE } from './application/evaluate-deliveries.js';
export { EVALUATION_STEPS, type EvaluationStep, EvaluationSteps } from './application/evaluation-steps.js';
export { factoryTurns, type WaitingWebhook } from './domain/evaluation-turns.js';
export { type AcceptedDelivery, DeliveryEvaluator, EvaluationNudge } from './application/ports.js';
export { PruneDeliveries } from './application/prune-deliveries.js';
export { DeliveryLogModule } from './delivery-log.module.js';
export {
  type AutomationResult,
  DELIVERY_OUTCOMES,
  type DeliveryIdentity,
  type DeliveryOutcome,
  type OutcomeCode,
} from './domain/delivery.js';
export { identityKey, identityOf, isIdentityAmbiguous, signatureKey } from './domain/delivery-identity.js';
export { EvaluationNudgeModule } from './evaluation-nudge.module.js';
export { type IncomingRequest, RawHeaders } from './domain/signing/incoming-request.js';
export type {
  HandshakeAnswer,
  SecretBringingHandshake,
  SignableRequest,
  SignatureScheme,
} from './domain/signing/signature-scheme.js';
export { SignatureSchemes } from './domain/signing/signature-schemes.js';
export { signatureSchemesProvider } from './signature-schemes.provider.js';
export { WebhookSecrets } from './application/webhook-secrets.js';
export { CreateWebhook } from './application/create-webhook.js';
export { type CreateDefinedWebhookResult, DefinedWebhooks } from './application/defined-webhooks.js';
export { FindWebhooks } from './application/find-webhooks.js';
export { ReadDeliveryLog } from './application/read-delivery-log.js';
export { RotateWebhookSecret } from './application/rotate-secret.js';
export { SignDelivery, type SignedDelivery } from './application/sign-delivery.js';
export type { CreateWebhookResult, RotateSecretResult } from './application/webhook-outcomes.js';
export { ingressUrl } from './domain/ingress-url.js';
export type { DefinedWebhook, WebhookSettingIssue, WebhookSettings } from './domain/defined-webhook.js';
export type { ManagedWebhook } from './domain/managed-webhook.js';
export { AUTH_MODES, type AuthMode, MAX_WEBHOOKS_PER_FACTORY } from './domain/webhook.js';
export { type KnownWebhook, WebhookDirectory } from './application/webhook-directory.js';
export { WebhookDirectoryModule } from './webhook-directory.module.js';
export { WebhooksPlace } from './persistence/webhook-sealed-place.js';
export { WebhooksHttpModule, WebhooksModule } from './webhooks.module.js';
export { WebhookEvaluationModule } from './webhook-evaluation.module.js';
export { WebhooksJobsModule } from './webhooks-jobs.module.js';
