import { hash } from 'node:crypto';
import { parseJson } from '#platform/kernel';
import { textAt } from './body-text.js';
import type { IncomingRequest } from './incoming-request.js';
import { type SchemeMetadata, type SignableRequest, SignatureScheme, type SignedRequest } from './signature-scheme.js';
import { decodeStrictly, hmac } from './signing-algorithm.js';

export interface JwtRow extends SchemeMetadata {
  readonly header: string;
  readonly issuer: string;
  /** Claim with the hexadecimal SHA-256 of the body. */
  readonly bodyHashClaim: string;
}

const MAX_TOKEN_LENGTH = 4096;
const ALGORITHM = hmac({ hash: 'sha256', encoding: 'base64url' });

/** A sender that sends a JSON Web Token with the hash of the body. Only HS256: the token does not select the algorithm. */
export class JwtScheme extends SignatureScheme {
  readonly signatureHeaders: readonly string[];

  constructor(private readonly row: JwtRow) {
    super(row);
    this.signatureHeaders = [row.header];
  }

  sign({ body, secret, url, deliveryId }: SignableRequest): SignedRequest | null {
    if (this.checkSecret(secret) !== null) return null;
    const claims = { iss: this.row.issuer, [this.row.bodyHashClaim]: hash('sha256', body) };
    const signed = [{ alg: 'HS256', typ: 'JWT' }, claims].map(encode).join('.');
    const signature = ALGORITHM.sign([Buffer.from(signed)], secret);
    if (signature === null) return null;
    return { headers: { ...this.plainHeaders(deliveryId), [this.row.header]: `${signed}.${signature}` }, body, url };
  }

  signedContent({ headers }: IncomingRequest): readonly Buffer[] | null {
    const token = headers.single(this.row.header);
    return token === null ? null : [Buffer.from(token.slice(0, token.lastIndexOf('.')))];
  }

  protected checkKey(secret: string): string | null {
    return ALGORITHM.checkSecret(secret);
  }

  protected isSigned({ headers, body }: IncomingRequest, secret: string): boolean {
    const token = headers.single(this.row.header);
    if (token === null || token.length > MAX_TOKEN_LENGTH) return false;
    const [head = '', claims = '', signature = '', ...rest] = token.split('.', 4);
    if (rest.length > 0) return false;
    // The token is parsed only after its signature was verified.
    if (!ALGORITHM.accepts([Buffer.from(`${head}.${claims}`)], [signature], secret)) return false;
    const payload = decode(claims);
    return (
      textAt(decode(head), ['alg']) === 'HS256' &&
      textAt(payload, ['iss']) === this.row.issuer &&
      textAt(payload, [this.row.bodyHashClaim]) === hash('sha256', body)
    );
  }
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

const decode = (part: string): unknown => parseJson(decodeStrictly(part, 'base64url')?.toString('utf8') ?? '');
