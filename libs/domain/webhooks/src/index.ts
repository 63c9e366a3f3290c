export { DefinedWebhooks } from './application/defined-webhooks.js';
export { type AcceptedDelivery, DeliveryEvaluator, DeliveryEvaluators } from './application/delivery-evaluator.js';
export { EvaluateDeliveries } from './application/evaluate-deliveries.js';
export { IngressAuthModes } from './application/ingress-auth-modes.js';
export { SignDelivery } from './application/sign-delivery.js';
export { WebhookDirectory } from './application/webhook-directory.js';
export { WEBHOOKS_ENCRYPTED_COLUMNS, WebhookSecrets } from './application/webhook-secrets.js';
export { EVALUATE_DELIVERIES_TASK } from './application/webhook-tasks.js';
export { WebhooksService } from './application/webhooks.service.js';
export { type AutomationResult, DELIVERY_OUTCOMES, type DeliveryOutcome, type OutcomeCode } from './domain/delivery.js';
export {
  identityKey,
  identityOf,
  type IdentitySources,
  isIdentityAmbiguous,
  signatureKey,
} from './domain/delivery-identity.js';
export { type IncomingRequest, RawHeaders } from './domain/signing/incoming-request.js';
export {
  type HandshakeAnswer,
  type SecretBringingHandshake,
  type SignableRequest,
  SignatureScheme,
  type SignedRequest,
} from './domain/signing/signature-scheme.js';
export { type SchemeRow, SignedScheme } from './domain/signing/signed-scheme.js';
export { withTimeField, withTimeHeader } from './domain/signing/signature-framing.js';
export { IngressAuthMode } from './domain/ingress-auth-mode.js';
export {
  base64Key,
  decodeStrictly,
  hmac,
  isSameText,
  publicKey,
  verbatimKey,
} from './domain/signing/signing-algorithm.js';
export { SignatureSchemes } from './domain/signing/signature-schemes.js';
export {
  AUTH_MODES,
  type BuiltInAuthMode,
  type DefinedWebhook,
  ingressUrl,
  type ManagedWebhook,
  MAX_WEBHOOKS_PER_FACTORY,
  type WebhookSettings,
} from './domain/webhook.js';
export { PruneDeliveries } from './persistence/prune-deliveries.js';
export {
  EVALUATION_PROVIDERS,
  signatureSchemesProvider,
  WebhooksHttpModule,
  WebhooksJobsModule,
  WebhooksModule,
} from './webhooks.module.js';
