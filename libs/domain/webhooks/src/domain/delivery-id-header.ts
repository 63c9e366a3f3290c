import type { SignatureSchemes } from './signing/signature-schemes.js';

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;

/** Credentials, and what belongs to the connection: the same for all deliveries, or nobody's business to store. */
const NEVER = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
]);

/** Why a header cannot carry the delivery id of a webhook; null when it can. Completes "`delivery_id_header` …". */
export function deliveryIdHeaderFault(name: string, schemes: SignatureSchemes): string | null {
  if (!TOKEN.test(name)) return 'must be the name of a header, of at most 128 characters';
  const lowered = name.toLowerCase();
  if (NEVER.has(lowered)) return `must not be ${lowered}`;
  // Of any scheme: who sends such a header means a signature.
  if (schemes.all().some(({ signatureHeaders }) => signatureHeaders.includes(lowered)))
    return `must not be ${lowered}, in which signatures come`;
  return null;
}
