import { hash } from 'node:crypto';
import type { DeliveryIdentity, IdentityKind } from './delivery.js';
import { textAt } from './signing/body-text.js';
import type { IncomingRequest } from './signing/incoming-request.js';
import type { SignatureScheme } from './signing/signature-scheme.js';

/** The header of the service and the alias of the published service; the first that is present counts. */
export const SERVICE_ID_HEADERS = ['x-headrace-delivery-id', 'x-warp-delivery-id'] as const;
export const MAX_IDENTITY_LENGTH = 255;
const PRINTABLE = /^[\x20-\x7e]+$/;

export interface IdentitySources {
  readonly deliveryIdHeader: string | null;
  readonly scheme: SignatureScheme | null;
}

/** In one call: a hash object would cost more than hashing a delivery. */
const sha256 = (data: string | Buffer): Buffer => hash('sha256', data, 'buffer');
const SIGNATURE = Buffer.from('signature\0');

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
 * The identity by which a repeated delivery is recognised: the header of the webhook, the id of the sender (in a header, or
 * in the body), the header of the service, or the hash of the body. An id in the body precedes the header of the service,
 * because it is signed with the body and the header is not.
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

/** The key of the unique index, 32 bytes. Kinds never collide. */
export function identityKey({ kind, value }: DeliveryIdentity): Buffer {
  return sha256(`${kind}\0${value}`);
}

/** A hash of everything that the signature covers, accepted once under any identity. 32 bytes, never an identity key. */
export function signatureKey(request: IncomingRequest, { scheme }: IdentitySources): Buffer | null {
  const content = scheme?.signedContent(request) ?? null;
  return content && sha256(Buffer.concat([SIGNATURE, ...content]));
}

/** Null for an empty or blank value; then the next rule decides. */
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
