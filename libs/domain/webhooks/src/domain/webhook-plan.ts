import { type Issue, nearMisses, type RejectionOf } from '#platform/kernel';
import { type Authentication, credentialFault, generateCredential, SECRET_NOT_ALLOWED } from './credential.js';
import type { SignatureSchemes } from './signing/signature-schemes.js';
import type { WebhookSettings } from './webhook.js';

export interface WebhookRequest extends Omit<WebhookSettings, 'secretName'> {
  /** The secret of the sender, in `signature` mode. */
  readonly secret: string | null;
  /** An existing managed secret. */
  readonly secretName: string | null;
}

export type SecretPlan =
  | { readonly kind: 'managed'; readonly name: string }
  /** Stored as a managed secret that the webhook owns. */
  | { readonly kind: 'own'; readonly value: string }
  | { readonly kind: 'brought_by_handshake' }
  | { readonly kind: 'supplied_later' };

export interface WebhookPlan {
  readonly authentication: Authentication;
  /** Lower case. */
  readonly deliveryIdHeader: string | null;
  readonly secret: SecretPlan;
}

export function planWebhook(
  request: WebhookRequest,
  schemes: SignatureSchemes,
  modes: readonly string[],
): { readonly kind: 'planned'; readonly plan: WebhookPlan } | RejectionOf<'invalid'> {
  const { authMode, signatureScheme, deliveryIdHeader: header } = request;
  const scheme = signatureScheme === null ? null : schemes.find(signatureScheme);
  const authentication = { authMode, scheme };
  const issues = [
    ...issue('/auth_mode', modes.includes(authMode) ? null : `must be one of ${modes.join(', ')}`),
    ...issue('/signature_scheme', schemeFault(request, schemes)),
    ...issue('/secret', secretFault(request, authentication)),
    ...issue('/delivery_id_header', header === null ? null : deliveryIdHeaderFault(header, schemes)),
  ];
  if (issues.length > 0) return { kind: 'invalid', issues };
  const secret = planSecret(request, authentication);
  return { kind: 'planned', plan: { authentication, secret, deliveryIdHeader: header?.toLowerCase() ?? null } };
}

const issue = (pointer: string, detail: string | null): Issue[] => (detail === null ? [] : [{ pointer, detail }]);

function schemeFault({ authMode, signatureScheme }: WebhookRequest, schemes: SignatureSchemes): string | null {
  if (authMode !== 'signature') return signatureScheme === null ? null : 'is allowed in the mode `signature` only';
  if (signatureScheme === null) return 'is required in the mode `signature`';
  if (schemes.find(signatureScheme)) return null;
  const known = schemes.all().map(({ id }) => id);
  const near = nearMisses(signatureScheme, known);
  const hint = near.length === 0 ? '' : ` (did you mean ${near.join(' or ')}?)`;
  return `must be the id of a signature scheme${hint}; GET /webhook-signature-schemes lists them`;
}

function secretFault({ authMode, secret, secretName }: WebhookRequest, authentication: Authentication): string | null {
  if (secret === null) return null;
  if (authMode !== 'signature') return SECRET_NOT_ALLOWED;
  if (secretName !== null) return 'excludes `secret_name`';
  // A missing scheme is reported as an issue of the scheme.
  return authentication.scheme ? credentialFault(authentication, secret) : null;
}

function planSecret({ secret, secretName }: WebhookRequest, authentication: Authentication): SecretPlan {
  if (secretName !== null) return { kind: 'managed', name: secretName };
  if (secret !== null) return { kind: 'own', value: secret };
  if (authentication.scheme?.hasSecretInHandshake) return { kind: 'brought_by_handshake' };
  const generated = generateCredential(authentication);
  return generated === null ? { kind: 'supplied_later' } : { kind: 'own', value: generated };
}

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;

/** Credentials, which must not be stored, and headers of the connection, which are the same for all deliveries. */
const NEVER = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
]);

/** Why a header cannot contain the delivery id; null when it can. Completes "`delivery_id_header` …". */
export function deliveryIdHeaderFault(name: string, schemes: SignatureSchemes): string | null {
  if (!TOKEN.test(name)) return 'must be the name of a header and not exceed 128 characters';
  const lowered = name.toLowerCase();
  if (NEVER.has(lowered)) return `must not be ${lowered}`;
  // For every scheme: such a header always contains a signature or its time.
  if (schemes.all().some(({ signatureHeaders }) => signatureHeaders.includes(lowered)))
    return `must not be ${lowered}, which contains signatures`;
  return null;
}
