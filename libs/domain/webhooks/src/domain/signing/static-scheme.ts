import { bodyWith, textAt } from './body-text.js';
import type { IncomingRequest } from './incoming-request.js';
import { type SchemeMetadata, type SignableRequest, SignatureScheme, type SignedRequest } from './signature-scheme.js';
import type { Place } from './signature-framing.js';
import { isSameText } from './signing-algorithm.js';

export interface StaticRow extends SchemeMetadata {
  readonly credential: Place;
}

/** Characters that a header transports unchanged. */
const HEADER_SAFE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** A sender that sends its secret with each request and signs nothing. */
export class StaticScheme extends SignatureScheme {
  readonly signatureHeaders: readonly string[];

  constructor(private readonly row: StaticRow) {
    super(row);
    this.signatureHeaders = 'header' in row.credential ? [row.credential.header] : [];
  }

  sign({ body, secret, url, deliveryId }: SignableRequest): SignedRequest | null {
    if (this.checkSecret(secret) !== null) return null;
    const { credential } = this.row;
    const headers = this.plainHeaders(deliveryId);
    if ('header' in credential) return { headers: { ...headers, [credential.header]: secret }, body, url };
    const signed = bodyWith(body, credential.path, secret);
    return signed && { headers, body: signed, url };
  }

  signedContent(): null {
    return null;
  }

  protected checkKey(secret: string): string | null {
    return 'header' in this.row.credential && !HEADER_SAFE.test(secret)
      ? 'The secret is sent in a header: it must be printable ASCII without spaces at its ends.'
      : null;
  }

  protected isSigned(request: IncomingRequest, secret: string): boolean {
    const { credential } = this.row;
    const given =
      'header' in credential ? request.headers.single(credential.header) : textAt(request.json(), credential.path);
    return given !== null && isSameText(given, secret);
  }
}
