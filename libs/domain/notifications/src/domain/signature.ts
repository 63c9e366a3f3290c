import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A secret of Standard Webhooks: `whsec_` and the key in base64. */
export const newSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64');

/** `v1,…`: HMAC-SHA256 over `id.timestamp.body`, in base64. `timestamp` is in seconds. */
export function signatureOf(secret: string, messageId: string, timestamp: number, body: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${messageId}.${timestamp}.${body}`).digest('base64')}`;
}

/** The headers of Standard Webhooks; one signature for each secret. */
export const signedHeaders = (
  secrets: readonly string[],
  messageId: string,
  timestamp: number,
  body: string,
): Record<string, string> => ({
  'webhook-id': messageId,
  'webhook-timestamp': String(timestamp),
  'webhook-signature': secrets.map((secret) => signatureOf(secret, messageId, timestamp, body)).join(' '),
});
