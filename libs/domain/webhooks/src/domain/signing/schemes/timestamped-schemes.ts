import { withTimeField, withTimeHeader } from '../signature-framing.js';
import type { SchemeRow } from '../signed-scheme.js';
import { decodeStrictly, hmac, publicKey, readPublicKey } from '../signing-algorithm.js';

const SHA256_BASE64 = hmac({ hash: 'sha256', encoding: 'base64' });

/** Senders that sign a time together with the body. */
export const timestampedSchemes: readonly SchemeRow[] = [
  {
    id: 'buildkite',
    label: 'Buildkite',
    documentationUrl: 'https://buildkite.com/docs/apis/webhooks/pipelines',
    framings: [withTimeField('x-buildkite-signature', ',', 'signature=', 'timestamp=')],
    content: '{timestamp}.{body}',
    time: { unit: 's' },
  },
  {
    id: 'calendly',
    label: 'Calendly',
    documentationUrl: 'https://developer.calendly.com/api-docs/4c305798a61d3-webhook-signatures',
    framings: [withTimeField('calendly-webhook-signature', ',', 'v1=', 't=')],
    content: '{timestamp}.{body}',
    time: { unit: 's' },
  },
  {
    id: 'customerio',
    label: 'Customer.io',
    documentationUrl: 'https://docs.customer.io/integrations/api/webhooks',
    framings: [withTimeHeader('x-cio-signature', 'x-cio-timestamp')],
    content: 'v0:{timestamp}:{body}',
    time: { unit: 's' },
    deliveryIdPath: ['event_id'],
  },
  {
    id: 'grafana_timestamped',
    label: 'Grafana Alerting with a timestamp header',
    documentationUrl:
      'https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/',
    // The header has no default name; these are the two names in the documentation of the product.
    framings: [
      withTimeHeader('x-grafana-alerting-signature', 'x-grafana-alerting-timestamp'),
      withTimeHeader('x-grafana-alerting-signature', 'x-grafana-alerting-signature-timestamp'),
    ],
    content: '{timestamp}:{body}',
    time: { unit: 's' },
  },
  {
    id: 'paddle',
    label: 'Paddle',
    documentationUrl: 'https://developer.paddle.com/webhooks/signature-verification',
    framings: [withTimeField('paddle-signature', ';', 'h1=', 'ts=')],
    content: '{timestamp}:{body}',
    time: { unit: 's' },
    deliveryIdPath: ['notification_id'],
  },
  {
    id: 'sendgrid',
    label: 'SendGrid Event Webhook',
    documentationUrl:
      'https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features',
    algorithm: publicKey({
      hash: 'sha256',
      encoding: 'base64',
      key: (secret) => {
        const der = decodeStrictly(secret, 'base64');
        return der && readPublicKey(der, (key) => key.asymmetricKeyDetails?.namedCurve === 'prime256v1');
      },
      expected: 'The secret must be the verification key that SendGrid shows: a P-256 public key in base64.',
    }),
    framings: [withTimeHeader('x-twilio-email-event-webhook-signature', 'x-twilio-email-event-webhook-timestamp')],
    content: '{timestamp}{body}',
    time: { unit: 's' },
  },
  {
    id: 'stripe',
    label: 'Stripe',
    documentationUrl: 'https://docs.stripe.com/webhooks#verify-manually',
    framings: [withTimeField('stripe-signature', ',', 'v1=', 't=')],
    content: '{timestamp}.{body}',
    time: { unit: 's' },
    deliveryIdPath: ['id'],
  },
  {
    id: 'workos',
    label: 'WorkOS',
    documentationUrl: 'https://workos.com/docs/events/data-syncing/webhooks',
    framings: [withTimeField('workos-signature', ', ', 'v1=', 't=')],
    content: '{timestamp}.{body}',
    time: { unit: 'ms' },
    deliveryIdPath: ['id'],
  },
  {
    id: 'zendesk',
    label: 'Zendesk',
    documentationUrl: 'https://developer.zendesk.com/documentation/webhooks/verifying/',
    algorithm: SHA256_BASE64,
    framings: [withTimeHeader('x-zendesk-webhook-signature', 'x-zendesk-webhook-signature-timestamp')],
    content: '{timestamp}{body}',
    time: { unit: 'rfc3339' },
    deliveryIdHeaders: ['x-zendesk-webhook-invocation-id'],
  },
];

/** Senders whose signature is in the body, which is therefore parsed before it is authenticated. */
export const inBodySchemes: readonly SchemeRow[] = [
  {
    id: 'mailgun',
    label: 'Mailgun',
    documentationUrl: 'https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks',
    framings: [
      {
        signature: { path: ['signature', 'signature'] },
        timestamp: { path: ['signature', 'timestamp'] },
        id: { path: ['signature', 'token'] },
      },
    ],
    content: '{timestamp}{id}',
    time: { unit: 's' },
    bodyIsNotSigned: true,
    deliveryIdPath: ['signature', 'token'],
  },
];
