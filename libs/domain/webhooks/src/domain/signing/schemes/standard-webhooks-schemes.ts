import { randomBytes } from 'node:crypto';
import {
  base64Key,
  decodeStrictly,
  hmac,
  type KeyFormat,
  publicKey,
  readEd25519Key,
  standardWebhooksKey,
  verbatimKey,
} from '../signing-algorithm.js';
import type { SignatureFraming } from '../signature-framing.js';
import type { SchemeRow } from '../signed-scheme.js';

const GENERATED_SECRET_BYTES = 32;
const PUBLIC_KEY_PREFIX = 'whpk_';

const trio = (family: 'webhook' | 'svix', version: 'v1' | 'v1a' = 'v1'): SignatureFraming => ({
  id: { header: `${family}-id` },
  timestamp: { header: `${family}-timestamp` },
  signature: { header: `${family}-signature`, separator: ' ', prefix: `${version},` },
});

const WEBHOOK = { framings: [trio('webhook')], deliveryIdHeaders: ['webhook-id'] } as const;
const SVIX = { framings: [trio('svix')], deliveryIdHeaders: ['svix-id'] } as const;
/** Svix sends both; its library prefers its own names. Identity and signature belong to the same trio. */
const EITHER = { framings: [trio('svix'), trio('webhook')], deliveryIdHeaders: ['svix-id', 'webhook-id'] } as const;

const signed = (key: KeyFormat = standardWebhooksKey) =>
  ({
    algorithm: hmac({ hash: 'sha256', encoding: 'base64', key }),
    content: '{id}.{timestamp}.{body}',
    time: { unit: 's' },
  }) as const;

/** Standard Webhooks, and the senders that implement it. */
export const standardWebhooksSchemes: readonly SchemeRow[] = [
  {
    id: 'standard_webhooks',
    label: 'Standard Webhooks (and Svix)',
    documentationUrl: 'https://www.standardwebhooks.com/',
    ...signed(),
    ...EITHER,
    generateSecret: () => `whsec_${randomBytes(GENERATED_SECRET_BYTES).toString('base64')}`,
  },
  {
    id: 'standard_webhooks_v1a',
    label: 'Standard Webhooks, asymmetric (v1a)',
    documentationUrl: 'https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md',
    ...signed(),
    algorithm: publicKey({
      hash: null,
      encoding: 'base64',
      key: (secret) =>
        secret.startsWith(PUBLIC_KEY_PREFIX)
          ? readEd25519Key(decodeStrictly(secret.slice(PUBLIC_KEY_PREFIX.length), 'base64'))
          : null,
      expected: 'The secret must be the public key of the sender: whpk_ and the base64 of 32 bytes.',
    }),
    framings: [trio('svix', 'v1a'), trio('webhook', 'v1a')],
    deliveryIdHeaders: EITHER.deliveryIdHeaders,
  },
  {
    id: 'anthropic',
    label: 'Anthropic',
    documentationUrl: 'https://platform.claude.com/docs/en/api/beta/webhooks/unwrap',
    ...signed(),
    ...WEBHOOK,
  },
  {
    id: 'clerk',
    label: 'Clerk',
    documentationUrl: 'https://clerk.com/docs/webhooks/overview',
    ...signed(),
    ...SVIX,
  },
  {
    id: 'gitlab_signing',
    label: 'GitLab (signing token)',
    documentationUrl: 'https://docs.gitlab.com/user/project/integrations/webhooks/',
    eventHeader: 'x-gitlab-event',
    ...signed(base64Key({ prefix: 'whsec_', minBytes: 32, maxBytes: 32 })),
    ...WEBHOOK,
  },
  {
    id: 'incident_io',
    label: 'incident.io',
    documentationUrl: 'https://api-docs.incident.io/tag/Webhooks-V2',
    ...signed(),
    ...EITHER,
  },
  {
    id: 'openai',
    label: 'OpenAI',
    documentationUrl: 'https://platform.openai.com/docs/guides/webhooks',
    ...signed(),
    ...WEBHOOK,
  },
  {
    id: 'polar',
    label: 'Polar',
    documentationUrl: 'https://polar.sh/docs/integrate/webhooks/delivery',
    // The key is the displayed secret itself, not its decoded base64.
    ...signed(verbatimKey),
    ...WEBHOOK,
  },
  {
    id: 'resend',
    label: 'Resend',
    documentationUrl: 'https://resend.com/docs/dashboard/webhooks/verify-webhooks-requests',
    ...signed(),
    ...SVIX,
  },
];
