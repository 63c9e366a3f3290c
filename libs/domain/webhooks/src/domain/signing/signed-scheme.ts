import {
  bindsBody,
  DEFAULT_TOLERANCE_SECONDS,
  isTimely,
  SignedContent,
  type TimeUnit,
  withBodyHash,
  writeTime,
} from './signed-content.js';
import { bodyWith } from './body-text.js';
import type { IncomingRequest } from './incoming-request.js';
import { type SchemeMetadata, type SignableRequest, SignatureScheme, type SignedRequest } from './signature-scheme.js';
import {
  type FramedSignature,
  framingHeaders,
  type Place,
  readFraming,
  type SignatureFraming,
} from './signature-framing.js';
import { hmac, type SigningAlgorithm } from './signing-algorithm.js';

export interface SchemeRow extends SchemeMetadata {
  /** Default: HMAC-SHA256, hexadecimal. */
  readonly algorithm?: SigningAlgorithm;
  /** The first complete framing is used; `sign` writes the last one. */
  readonly framings: readonly [SignatureFraming, ...SignatureFraming[]];
  /** Template of the signed bytes: text and `{body}` (exact bytes, the default), `{timestamp}`, `{id}`, `{url}`, `{method}`. */
  readonly content?: string;
  readonly time?: { readonly unit: TimeUnit; readonly toleranceSeconds?: number };
  /** How the sender normalizes the URL before it signs it. */
  readonly url?: (url: string) => string;
  /** Query parameter with the SHA-256 of the body. Requires `{url}` in the content. */
  readonly bodyHashParameter?: string;
  /** Must be set explicitly when the signature does not cover the body. */
  readonly bodyIsNotSigned?: true;
}

export interface CompleteRow extends SchemeRow {
  readonly algorithm: SigningAlgorithm;
  readonly content: string;
}
export const completeRow = (row: SchemeRow): CompleteRow => ({
  algorithm: hmac({ hash: 'sha256', encoding: 'hex' }),
  content: '{body}',
  ...row,
});

export class SignedScheme extends SignatureScheme {
  readonly signatureHeaders: readonly string[];
  private readonly row: CompleteRow;
  private readonly content: SignedContent;

  /** @throws Error for a row that relies on a value that is not signed. */
  constructor(row: SchemeRow) {
    super(row);
    this.row = completeRow(row);
    this.content = new SignedContent(this.row.content);
    const headers = row.framings.flatMap(({ signature, timestamp }) => framingHeaders({ signature, timestamp }));
    this.signatureHeaders = [...new Set(headers)];
    for (const framing of row.framings) this.assertSafe(framing);
  }

  sign({ body, secret, now, url, deliveryId }: SignableRequest): SignedRequest | null {
    const framing = this.row.framings.at(-1) ?? this.row.framings[0];
    const { timestamp, id, signature } = framing;
    const time = this.row.time ? writeTime(now, this.row.time.unit) : null;
    // A second id header beside the signed id would make the request ambiguous.
    const headers = id ? this.plainHeaders() : this.plainHeaders(deliveryId);
    let sent: Buffer | null = body;
    const write = (place: Place, value: string): void => {
      if ('header' in place) headers[place.header] = value;
      else sent &&= bodyWith(sent, place.path, place.asNumber ? Number(value) : value);
    };
    if (id) write(id, deliveryId);
    if (timestamp && !('field' in timestamp) && time !== null) write(timestamp, time);
    if (sent === null) return null;

    const parameter = this.row.bodyHashParameter;
    const target = parameter === undefined ? url : withBodyHash(url, parameter, sent);
    const content = this.contentOf('POST', target, sent, time, id ? deliveryId : null);
    const digest = content && this.row.algorithm.sign(content, secret);
    if (digest === null || this.checkSecret(secret) !== null) return null;
    const item = `${signature.prefix ?? ''}${digest}`;
    const inList = timestamp && 'field' in timestamp;
    write(signature, inList ? `${timestamp.field}${time}${signature.separator ?? ''}${item}` : item);
    return { headers, body: sent, url: target };
  }

  signedContent(request: IncomingRequest): readonly Buffer[] | null {
    const framed = readFraming(request, this.row.framings);
    return framed && this.contentIn(request, framed);
  }

  protected checkKey(secret: string): string | null {
    return this.row.algorithm.checkSecret(secret);
  }

  protected isSigned(request: IncomingRequest, secret: string, now: Date): boolean {
    const { framings, algorithm, bodyHashParameter } = this.row;
    const framed = readFraming(request, framings);
    if (framed === null) return false;
    const { url, body } = request;
    const content = this.contentIn(request, framed);
    return (
      content !== null &&
      algorithm.accepts(content, framed.candidates, secret) &&
      (bodyHashParameter === undefined || bindsBody(url, bodyHashParameter, body)) &&
      this.isTimely(framed.timestamp, now)
    );
  }

  private contentIn({ method, url, body }: IncomingRequest, { timestamp, id }: FramedSignature) {
    return this.contentOf(method, url, body, timestamp, id);
  }

  private contentOf(method: string, url: string, body: Buffer, timestamp: string | null, id: string | null) {
    return this.content.of({ method, url: this.row.url?.(url) ?? url, body, timestamp, id });
  }

  private isTimely(timestamp: string | null, now: Date): boolean {
    const { time } = this.row;
    if (time === undefined) return true;
    const { unit, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = time;
    return timestamp !== null && isTimely(timestamp, unit, now, toleranceSeconds);
  }

  /** A value that is read but not signed can be forged: a row must not rely on it. */
  private assertSafe({ signature, timestamp, id }: SignatureFraming): void {
    const { time, bodyHashParameter, bodyIsNotSigned } = this.row;
    const bodySigned = this.content.has('body');
    const within = (place: object | undefined, name: 'timestamp' | 'id'): boolean =>
      this.content.has(name) || (place !== undefined && 'path' in place && bodySigned);
    const mistakes: readonly (readonly [boolean, string])[] = [
      [
        (timestamp === undefined) !== (time === undefined),
        'has a time without a location or a location without a time',
      ],
      [timestamp !== undefined && !within(timestamp, 'timestamp'), 'checks a time that is not signed'],
      [id !== undefined && !within(id, 'id'), 'uses an id that is not signed'],
      [bodyHashParameter !== undefined && !this.content.has('url'), 'relies on a URL that is not signed'],
      [!bodySigned && bodyHashParameter === undefined && bodyIsNotSigned !== true, 'does not sign the body'],
      [
        timestamp !== undefined && 'field' in timestamp && !signature.separator,
        'reads a time from a value that is not a list',
      ],
    ];
    const mistake = mistakes.find(([isMade]) => isMade);
    if (mistake) throw new Error(`The signature scheme ${this.id} ${mistake[1]}.`);
  }
}
