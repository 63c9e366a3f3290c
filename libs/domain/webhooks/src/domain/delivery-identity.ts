import { hash } from 'node:crypto';
import type { DeliveryIdentity, IdentityKind } from './delivery.js';
import { textAt } from './signing/body-text.js';
import type { IncomingRequest } from './signing/incoming-request.js';
import type { SignatureScheme } from './signing/signature-scheme.js';

/** The service's own header and the alias that senders of the published service use; the first that is there counts. */
export const SERVICE_ID_HEADERS = ['x-headrace-delivery-id', 'x-warp-delivery-id'] as const;
export const MAX_IDENTITY_LENGTH = 255;
const PRINTABLE = /^[\x20-\x7e]+$/;

export interface IdentitySources {
  readonly deliveryIdHeader: string | null;
  readonly scheme: SignatureScheme | null;
}

/** In one call: objects that are fed in parts cost more than hashing a delivery does. */
const sha256 = (data: string | Buffer): Buffer => hash('sha256', data, 'buffer');
const SIGNATURE = Buffer.from('signature\0');

/** Whether a header that could be the identity came more than once: then nobody can say which one the sender meant. */
export function isIdentityAmbiguous(
  { headers }: IncomingRequest,
  { deliveryIdHeader, scheme }: IdentitySources,
): boolean {
  const names = [
    ...(deliveryIdHeader ? [deliveryIdHeader] : []),
    ...(scheme?.deliveryIdHeaders ?? []),
    ...SERVICE_ID_HEADERS,
  ];
  return names.some((name) => headers.all(name).length > 1);
}

/**
 * What makes a delivery the same one when it comes again: the webhook's header, the sender's own id (in a header, or in
 * the body of senders without one), our header, the body itself. The sender's id in the body is signed with it, our header
 * never is.
 */
export function identityOf(request: IncomingRequest, { deliveryIdHeader, scheme }: IdentitySources): DeliveryIdentity {
  const header = (kind: IdentityKind, name: string): DeliveryIdentity | null =>
    bounded(kind, request.headers.single(name) ?? '');
  return (
    (deliveryIdHeader ? header('webhook_header', deliveryIdHeader) : null) ??
    first(scheme?.deliveryIdHeaders ?? [], (name) => header('scheme_header', name)) ??
    (scheme?.deliveryIdPath ? bounded('scheme_body', textAt(request.json(), scheme.deliveryIdPath) ?? '') : null) ??
    first(SERVICE_ID_HEADERS, (name) => header('service_header', name)) ?? {
      kind: 'body_hash',
      value: sha256(request.body).toString('hex'),
    }
  );
}

/** What the unique index decides on: kinds never collide. 32 bytes. */
export function identityKey({ kind, value }: DeliveryIdentity): Buffer {
  return sha256(`${kind}\0${value}`);
}

/** What is accepted once whatever the identity: all that the signature covers. 32 bytes, which no identity key is. */
export function signatureKey(request: IncomingRequest, { scheme }: IdentitySources): Buffer | null {
  const content = scheme?.signedContent(request) ?? null;
  return content && sha256(Buffer.concat([SIGNATURE, ...content]));
}

/** Null for an empty or blank value: the next rule decides. */
function bounded(kind: IdentityKind, raw: string): DeliveryIdentity | null {
  const value = raw.trim();
  if (value === '') return null;
  if (value.length <= MAX_IDENTITY_LENGTH && PRINTABLE.test(value)) return { kind, value };
  return { kind, value: sha256(value).toString('hex') };
}

function first<T>(names: readonly string[], read: (name: string) => T | null): T | null {
  for (const name of names) {
    const found = read(name);
    if (found !== null) return found;
  }
  return null;
}
