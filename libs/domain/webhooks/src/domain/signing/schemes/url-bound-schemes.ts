import { withTimeHeader } from '../signature-framing.js';
import type { SchemeRow } from '../signed-scheme.js';
import { hmac } from '../signing-algorithm.js';

/** The escapes that HubSpot decodes before it signs a URL; all others are kept. */
const HUBSPOT_PLAIN = new Map(
  [':', '/', '?', '@', '!', '$', "'", '(', ')', '*', ',', ';'].map((character) => [
    `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    character,
  ]),
);

const hubspotUrl = (url: string): string =>
  url.replace(/%[0-9a-f]{2}/gi, (escape) => HUBSPOT_PLAIN.get(escape.toUpperCase()) ?? escape);

/** Senders that sign the public URL as it is configured at the sender. */
export const urlBoundSchemes: readonly SchemeRow[] = [
  {
    id: 'hubspot_v3',
    label: 'HubSpot (v3)',
    documentationUrl: 'https://developers.hubspot.com/docs/apps/legacy-apps/authentication/validating-requests',
    algorithm: hmac({ hash: 'sha256', encoding: 'base64' }),
    framings: [withTimeHeader('x-hubspot-signature-v3', 'x-hubspot-request-timestamp')],
    content: '{method}{url}{body}{timestamp}',
    time: { unit: 'ms' },
    url: hubspotUrl,
  },
  {
    id: 'square',
    label: 'Square',
    documentationUrl: 'https://developer.squareup.com/docs/webhooks/step3validate',
    algorithm: hmac({ hash: 'sha256', encoding: 'base64' }),
    framings: [{ signature: { header: 'x-square-hmacsha256-signature' } }],
    content: '{url}{body}',
    deliveryIdPath: ['event_id'],
  },
  {
    // Only JSON requests: forms are signed in another way, and are not JSON.
    id: 'twilio',
    label: 'Twilio',
    documentationUrl: 'https://www.twilio.com/docs/usage/webhooks/webhooks-security',
    algorithm: hmac({ hash: 'sha1', encoding: 'base64' }),
    framings: [{ signature: { header: 'x-twilio-signature' } }],
    content: '{url}',
    bodyHashParameter: 'bodySHA256',
    deliveryIdHeaders: ['i-twilio-idempotency-token'],
  },
];
