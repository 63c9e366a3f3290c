import { createHash, createHmac } from 'node:crypto';

/**
 * Recomputes AWS signatures, version 4, as the S3 API reference describes them ("Authenticating Requests"): for
 * requests signed in the Authorization header and for presigned URLs. Written from that description and checked against
 * its published example, so that it does not share the mistakes of the library that signs.
 */
export interface SignedRequest {
  readonly method: string;
  /** Path and query as they came over the wire. */
  readonly target: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

export interface SignatureRules {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly now: () => Date;
}

/** An S3 error code, or null when the signature is right and in time. */
export type SignatureVerdict = 'SignatureDoesNotMatch' | 'AccessDenied' | 'RequestTimeTooSkewed' | null;

const SKEW_MS = 15 * 60_000;
const MAX_EXPIRES = 604_800;

export function checkSignature(request: SignedRequest, rules: SignatureRules): SignatureVerdict {
  const { searchParams } = new URL(request.target, 'http://s3');
  return searchParams.has('X-Amz-Signature')
    ? checkPresigned(request, searchParams, rules)
    : checkHeader(request, rules);
}

function checkPresigned(request: SignedRequest, query: URLSearchParams, rules: SignatureRules): SignatureVerdict {
  const seconds = Number(query.get('X-Amz-Expires'));
  const scope = query.get('X-Amz-Credential') ?? '';
  const date = query.get('X-Amz-Date') ?? '';
  const isSane = query.get('X-Amz-Algorithm') === 'AWS4-HMAC-SHA256' && Number.isInteger(seconds) && seconds >= 1;
  if (!isSane || seconds > MAX_EXPIRES || !scope.startsWith(`${rules.accessKeyId}/`)) return 'AccessDenied';
  const expected = signatureOf(request, {
    scope,
    date,
    signedHeaders: query.get('X-Amz-SignedHeaders') ?? '',
    payloadHash: query.get('X-Amz-Content-Sha256') ?? 'UNSIGNED-PAYLOAD',
    secretAccessKey: rules.secretAccessKey,
  });
  if (expected === null || expected !== query.get('X-Amz-Signature')) return 'SignatureDoesNotMatch';
  return rules.now().getTime() > timeOf(date) + seconds * 1000 ? 'AccessDenied' : null;
}

function checkHeader(request: SignedRequest, rules: SignatureRules): SignatureVerdict {
  const match = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
    request.headers.authorization ?? '',
  );
  const [, scope = '', signedHeaders = '', signature = ''] = match ?? [];
  const date = request.headers['x-amz-date'] ?? '';
  if (!match || !scope.startsWith(`${rules.accessKeyId}/`)) return 'AccessDenied';
  const payloadHash = request.headers['x-amz-content-sha256'] ?? '';
  if (payloadHash !== 'UNSIGNED-PAYLOAD' && payloadHash !== sha256(request.body)) return 'SignatureDoesNotMatch';
  const { secretAccessKey } = rules;
  if (signatureOf(request, { scope, date, signedHeaders, payloadHash, secretAccessKey }) !== signature) {
    return 'SignatureDoesNotMatch';
  }
  return Math.abs(rules.now().getTime() - timeOf(date)) > SKEW_MS ? 'RequestTimeTooSkewed' : null;
}

interface Signing {
  /** `key id/day/region/service/aws4_request`. */
  readonly scope: string;
  readonly date: string;
  readonly signedHeaders: string;
  readonly payloadHash: string;
  readonly secretAccessKey: string;
}

/** The signature in hexadecimal, or null where a header that has to be signed is not. */
function signatureOf(request: SignedRequest, signing: Signing): string | null {
  const names = signing.signedHeaders.split(';');
  const mustBeSigned = Object.keys(request.headers).filter((name) => name === 'host' || name.startsWith('x-amz-'));
  if (!mustBeSigned.every((name) => names.includes(name))) return null;
  const url = new URL(request.target, 'http://s3');
  const canonical = [
    request.method,
    url.pathname.split('/').map(reencoded).join('/'),
    canonicalQuery(url.search),
    ...names.map((name) => `${name}:${(request.headers[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    signing.signedHeaders,
    signing.payloadHash,
  ].join('\n');
  const [, day = '', region = '', service = ''] = signing.scope.split('/');
  const stringToSign = [
    'AWS4-HMAC-SHA256',
    signing.date,
    `${day}/${region}/${service}/aws4_request`,
    sha256(Buffer.from(canonical)),
  ].join('\n');
  const key = [day, region, service, 'aws4_request'].reduce(
    (outer: Buffer | string, part) => hmac(outer, part),
    `AWS4${signing.secretAccessKey}`,
  );
  return hmac(key, stringToSign).toString('hex');
}

function canonicalQuery(search: string): string {
  return search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '' && !pair.startsWith('X-Amz-Signature='))
    .map((pair) => {
      const [name = '', value = ''] = pair.split(/=(.*)/s);
      return `${reencoded(name)}=${reencoded(value)}`;
    })
    .sort()
    .join('&');
}

/** Percent-encodes everything but the unreserved characters, whatever was encoded before. */
function reencoded(text: string): string {
  return encodeURIComponent(decodeURIComponent(text)).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function timeOf(date: string): number {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date);
  if (!match) return Number.NaN;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest();
