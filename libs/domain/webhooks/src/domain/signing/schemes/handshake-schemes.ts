import { createHmac } from 'node:crypto';
import type { IncomingRequest } from '../incoming-request.js';
import { textAt } from '../body-text.js';
import type { HandshakeAnswer, SecretBringingHandshake } from '../signature-scheme.js';
import { withTimeHeader } from '../signature-framing.js';
import type { SchemeRow } from '../signed-scheme.js';
import { decodeStrictly, publicKey, readEd25519Key } from '../signing-algorithm.js';

/** Bounds what is echoed or stored; the values of the senders are a few dozen characters. */
const MAX_ECHO_LENGTH = 1024;
const HEADER_VALUE = /^[\x21-\x7e]+$/;

function bounded(text: string | null): string | null {
  return text !== null && text.length <= MAX_ECHO_LENGTH ? text : null;
}

export function slackHandshake(request: IncomingRequest): HandshakeAnswer | null {
  const json = request.json();
  if (textAt(json, ['type']) !== 'url_verification') return null;
  const challenge = bounded(textAt(json, ['challenge']));
  return challenge === null ? null : { status: 200, contentType: 'text/plain; charset=utf-8', body: challenge };
}

export function zoomHandshake(request: IncomingRequest, secret: string): HandshakeAnswer | null {
  const json = request.json();
  if (textAt(json, ['event']) !== 'endpoint.url_validation') return null;
  const plainToken = bounded(textAt(json, ['payload', 'plainToken']));
  if (plainToken === null) return null;
  const encryptedToken = createHmac('sha256', secret).update(plainToken).digest('hex');
  return { status: 200, contentType: 'application/json', body: JSON.stringify({ plainToken, encryptedToken }) };
}

/** For events (`type` 0) and for interactions (`type` 1, which is an event when it has `event`). */
export function discordHandshake(request: IncomingRequest): HandshakeAnswer | null {
  const json = request.json();
  if (typeof json !== 'object' || json === null || !Object.hasOwn(json, 'type')) return null;
  const { type } = json as { readonly type: unknown };
  if (type === 0) return { status: 204, contentType: 'application/json' };
  if (type !== 1 || Object.hasOwn(json, 'event')) return null;
  return { status: 200, contentType: 'application/json', body: '{"type":1}' };
}

/** Asana sends the secret in a header and expects it in a response header. */
export function extractAsanaSecret({ headers }: IncomingRequest): SecretBringingHandshake | null {
  const secret = bounded(headers.single('x-hook-secret'));
  // The sender of a signed request already has its secret.
  if (secret === null || !HEADER_VALUE.test(secret) || headers.has('x-hook-signature')) return null;
  return { secret, answer: { status: 200, headers: { 'X-Hook-Secret': secret } } };
}

export function extractNotionSecret(request: IncomingRequest): SecretBringingHandshake | null {
  const secret = notionToken(request);
  return secret === null ? null : { secret, answer: { status: 200 } };
}

/** Sent again, signed: it contains the secret, so it must not be stored as an event. */
export function notionHandshake(request: IncomingRequest): HandshakeAnswer | null {
  return notionToken(request) === null ? null : { status: 200 };
}

function notionToken(request: IncomingRequest): string | null {
  const token = bounded(textAt(request.json(), ['verification_token']));
  return token?.startsWith('secret_') ? token : null;
}

/** Senders that require a handshake before they send events. */
export const handshakeSchemes: readonly SchemeRow[] = [
  {
    id: 'asana',
    label: 'Asana',
    documentationUrl: 'https://developers.asana.com/docs/webhooks-guide',
    framings: [{ signature: { header: 'x-hook-signature' } }],
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
    framings: [withTimeHeader('x-signature-ed25519', 'x-signature-timestamp')],
    content: '{timestamp}{body}',
    time: { unit: 's' },
    handshake: discordHandshake,
  },
  {
    id: 'notion',
    label: 'Notion',
    documentationUrl: 'https://developers.notion.com/reference/webhooks',
    framings: [{ signature: { header: 'x-notion-signature', prefix: 'sha256=' } }],
    deliveryIdPath: ['id'],
    handshake: notionHandshake,
    extractSecret: extractNotionSecret,
  },
  {
    id: 'slack',
    label: 'Slack',
    documentationUrl: 'https://docs.slack.dev/authentication/verifying-requests-from-slack',
    framings: [withTimeHeader('x-slack-signature', 'x-slack-request-timestamp', 'v0=')],
    content: 'v0:{timestamp}:{body}',
    time: { unit: 's' },
    deliveryIdPath: ['event_id'],
    formField: 'payload',
    // The same for everybody: whether the command starts something is decided later.
    command: { name: 'command', response: '{"response_type":"ephemeral","text":"The command was received."}' },
    handshake: slackHandshake,
  },
  {
    id: 'zoom',
    label: 'Zoom',
    documentationUrl: 'https://developers.zoom.us/docs/api/webhooks/',
    framings: [withTimeHeader('x-zm-signature', 'x-zm-request-timestamp', 'v0=')],
    content: 'v0:{timestamp}:{body}',
    time: { unit: 's' },
    handshake: zoomHandshake,
  },
];
