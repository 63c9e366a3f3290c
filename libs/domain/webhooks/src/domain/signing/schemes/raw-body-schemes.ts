import { base64Key, hmac } from '../signing-algorithm.js';
import type { SchemeRow } from '../signed-scheme.js';

const SHA256_BASE64 = hmac({ hash: 'sha256', encoding: 'base64' });
const SHA1_HEX = hmac({ hash: 'sha1', encoding: 'hex' });

/** Senders that sign only the body: without a time, the identity alone protects a delivery from replay. */
export const rawBodySchemes: readonly SchemeRow[] = [
  {
    id: 'airtable',
    label: 'Airtable',
    documentationUrl: 'https://airtable.com/developers/web/api/webhooks-overview',
    algorithm: hmac({ hash: 'sha256', encoding: 'hex', key: base64Key({ minBytes: 16, maxBytes: 128 }) }),
    framings: [{ signature: { header: 'x-airtable-content-mac', prefix: 'hmac-sha256=' } }],
  },
  {
    id: 'bitbucket',
    label: 'Bitbucket Cloud',
    documentationUrl: 'https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/',
    framings: [{ signature: { header: 'x-hub-signature', prefix: 'sha256=' } }],
    deliveryIdHeaders: ['x-request-uuid'],
  },
  {
    id: 'circleci',
    label: 'CircleCI',
    documentationUrl: 'https://circleci.com/docs/webhooks/',
    framings: [{ signature: { header: 'circleci-signature', separator: ',', prefix: 'v1=' } }],
    deliveryIdPath: ['id'],
  },
  {
    id: 'github',
    label: 'GitHub',
    documentationUrl: 'https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries',
    framings: [{ signature: { header: 'x-hub-signature-256', prefix: 'sha256=' } }],
    deliveryIdHeaders: ['x-github-delivery'],
    eventHeader: 'x-github-event',
  },
  {
    id: 'grafana',
    label: 'Grafana Alerting',
    documentationUrl:
      'https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/',
    framings: [{ signature: { header: 'x-grafana-alerting-signature' } }],
  },
  {
    id: 'intercom',
    label: 'Intercom',
    documentationUrl: 'https://developers.intercom.com/docs/webhooks/setting-up-webhooks',
    algorithm: SHA1_HEX,
    framings: [{ signature: { header: 'x-hub-signature', prefix: 'sha1=' } }],
    deliveryIdPath: ['id'],
  },
  {
    id: 'jira',
    label: 'Jira',
    documentationUrl: 'https://developer.atlassian.com/cloud/jira/platform/webhooks/',
    framings: [{ signature: { header: 'x-hub-signature', prefix: 'sha256=' } }],
    deliveryIdHeaders: ['x-atlassian-webhook-identifier'],
  },
  {
    id: 'launchdarkly',
    label: 'LaunchDarkly',
    documentationUrl: 'https://launchdarkly.com/docs/home/infrastructure/webhooks',
    framings: [{ signature: { header: 'x-ld-signature' } }],
    deliveryIdPath: ['_id'],
  },
  {
    id: 'linear',
    label: 'Linear',
    documentationUrl: 'https://linear.app/developers/webhooks',
    framings: [
      { signature: { header: 'linear-signature' }, timestamp: { path: ['webhookTimestamp'], asNumber: true } },
    ],
    time: { unit: 'ms', toleranceSeconds: 60 },
    deliveryIdHeaders: ['linear-delivery'],
  },
  {
    id: 'pagerduty',
    label: 'PagerDuty',
    documentationUrl: 'https://developer.pagerduty.com/docs/verifying-webhook-signatures',
    framings: [{ signature: { header: 'x-pagerduty-signature', separator: ',', prefix: 'v1=' } }],
    deliveryIdPath: ['event', 'id'],
  },
  {
    id: 'sentry',
    label: 'Sentry',
    documentationUrl: 'https://docs.sentry.io/organization/integrations/integration-platform/webhooks/',
    framings: [{ signature: { header: 'sentry-hook-signature' } }],
    deliveryIdHeaders: ['request-id'],
  },
  {
    id: 'shopify',
    label: 'Shopify',
    documentationUrl: 'https://shopify.dev/docs/apps/build/webhooks/subscribe/https',
    algorithm: SHA256_BASE64,
    framings: [{ signature: { header: 'shopify-hmac-sha256' } }, { signature: { header: 'x-shopify-hmac-sha256' } }],
    deliveryIdHeaders: ['x-shopify-event-id', 'shopify-webhook-id'],
  },
  {
    id: 'terraform_cloud',
    label: 'HCP Terraform',
    documentationUrl: 'https://developer.hashicorp.com/terraform/cloud-docs/api-docs/notification-configurations',
    algorithm: hmac({ hash: 'sha512', encoding: 'hex' }),
    framings: [{ signature: { header: 'x-tfe-notification-signature' } }],
  },
  {
    id: 'typeform',
    label: 'Typeform',
    documentationUrl: 'https://www.typeform.com/developers/webhooks/secure-your-webhooks/',
    algorithm: SHA256_BASE64,
    framings: [{ signature: { header: 'typeform-signature', prefix: 'sha256=' } }],
    deliveryIdPath: ['event_id'],
  },
  {
    id: 'vercel',
    label: 'Vercel',
    documentationUrl: 'https://vercel.com/docs/webhooks/webhooks-api',
    algorithm: SHA1_HEX,
    framings: [{ signature: { header: 'x-vercel-signature' } }],
    deliveryIdPath: ['id'],
  },
];
