import {
  extractAsanaSecret,
  discordHandshake,
  extractNotionSecret,
  notionHandshake,
  slackHandshake,
  zoomHandshake,
} from '../handshakes.js';
import type { SchemeRow } from '../signed-scheme.js';
import { hmac, publicKey, readEd25519Key } from '../signing-algorithm.js';
import { decodeStrictly } from '../strict-encoding.js';

const SHA256_HEX = hmac({ hash: 'sha256', encoding: 'hex' });

/** Senders that want an answer of their own before they send events. */
export const handshakeSchemes: readonly SchemeRow[] = [
  {
    id: 'asana',
    label: 'Asana',
    documentationUrl: 'https://developers.asana.com/docs/webhooks-guide',
    algorithm: SHA256_HEX,
    framings: [{ signature: { header: 'x-hook-signature' } }],
    content: '{body}',
    extractSecret: extractAsanaSecret,
  },
  {
    id: 'discord',
    label: 'Discord',
    documentationUrl: 'https://discord.com/developers/docs/events/webhook-events',
    algorithm: publicKey({
      hash: null,
      encoding: 'hex',
      key: (secret) => readEd25519Key(decodeStrictly(secret, 'hex')),
      expected: "The secret must be the application's public key: 64 lower case hexadecimal digits.",
    }),
    framings: [{ signature: { header: 'x-signature-ed25519' }, timestamp: { header: 'x-signature-timestamp' } }],
    content: '{timestamp}{body}',
    time: { unit: 's' },
    handshake: discordHandshake,
  },
  {
    id: 'notion',
    label: 'Notion',
    documentationUrl: 'https://developers.notion.com/reference/webhooks',
    algorithm: SHA256_HEX,
    framings: [{ signature: { header: 'x-notion-signature', prefix: 'sha256=' } }],
    content: '{body}',
    deliveryIdPath: ['id'],
    handshake: notionHandshake,
    extractSecret: extractNotionSecret,
  },
  {
    id: 'slack',
    label: 'Slack',
    documentationUrl: 'https://docs.slack.dev/authentication/verifying-requests-from-slack',
    algorithm: SHA256_HEX,
    framings: [
      {
        signature: { header: 'x-slack-signature', prefix: 'v0=' },
        timestamp: { header: 'x-slack-request-timestamp' },
      },
    ],
    content: 'v0:{timestamp}:{body}',
    time: { unit: 's' },
    deliveryIdPath: ['event_id'],
    handshake: slackHandshake,
  },
  {
    id: 'zoom',
    label: 'Zoom',
    documentationUrl: 'https://developers.zoom.us/docs/api/webhooks/',
    algorithm: SHA256_HEX,
    framings: [
      { signature: { header: 'x-zm-signature', prefix: 'v0=' }, timestamp: { header: 'x-zm-request-timestamp' } },
    ],
    content: 'v0:{timestamp}:{body}',
    time: { unit: 's' },
    handshake: zoomHandshake,
  },
];
