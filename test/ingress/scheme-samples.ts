import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { SIGNATURE_SCHEMES } from '../../libs/domain/webhooks/src/domain/signing/signature-schemes.js';
import { bodyWith } from '../../libs/domain/webhooks/src/domain/signing/body-text.js';
import { type IncomingRequest, RawHeaders } from '../../libs/domain/webhooks/src/domain/signing/incoming-request.js';
import { handshakeSchemes } from '../../libs/domain/webhooks/src/domain/signing/schemes/handshake-schemes.js';
import {
  inBodySchemes,
  timestampedSchemes,
} from '../../libs/domain/webhooks/src/domain/signing/schemes/timestamped-schemes.js';
import { rawBodySchemes } from '../../libs/domain/webhooks/src/domain/signing/schemes/raw-body-schemes.js';
import { standardWebhooksSchemes } from '../../libs/domain/webhooks/src/domain/signing/schemes/standard-webhooks-schemes.js';
import { urlBoundSchemes } from '../../libs/domain/webhooks/src/domain/signing/schemes/url-bound-schemes.js';
import type { Place, SignatureFraming } from '../../libs/domain/webhooks/src/domain/signing/signature-framing.js';
import type { SignatureScheme, SignedRequest } from '../../libs/domain/webhooks/src/domain/signing/signature-scheme.js';
import { SignedContent, writeTime } from '../../libs/domain/webhooks/src/domain/signing/signed-content.js';
import { type CompleteRow, completeRow } from '../../libs/domain/webhooks/src/domain/signing/signed-scheme.js';

export const NOW = new Date(1_790_000_000_000);
export const URL_HERE = 'https://ingress.example/webhooks/w/AbCdEfGhIjKlMnOpQrStUv';
export const BODY = Buffer.from(
  '{"id":"evt_1","text":"zażółć 🚀","n":1.0,"big":12345678901234567890,\n "spaced" : true}',
);
export const DELIVERY_ID = 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd043';

/** A scheme with two secrets that it takes, and what signs as its sender. */
export interface SchemeSample {
  readonly scheme: SignatureScheme;
  /** Null for the schemes that are no rows. */
  readonly row: CompleteRow | null;
  readonly secret: string;
  readonly otherSecret: string;
  /** Signed with the first secret, now, unless it says something else; `timestamp` is signed as it stands. */
  readonly request: (changes?: {
    timestamp?: string;
    id?: string;
    body?: Buffer;
    framing?: SignatureFraming;
  }) => SignedRequest;
}

const ROWS = [
  ...rawBodySchemes,
  ...timestampedSchemes,
  ...standardWebhooksSchemes,
  ...urlBoundSchemes,
  ...inBodySchemes,
  ...handshakeSchemes,
].map(completeRow);

const ed25519 = () => generateKeyPairSync('ed25519');
const p256 = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const spki = (key: KeyObject): Buffer => key.export({ format: 'der', type: 'spki' });
const rawEd25519 = (key: KeyObject): Buffer => spki(key).subarray(-32);

/** Private keys of our own, for the senders of which the receiver knows a public one only. */
const KEY_PAIRS: Record<
  string,
  {
    pair: () => { publicKey: KeyObject; privateKey: KeyObject };
    secret: (key: KeyObject) => string;
    hash: 'sha256' | null;
    encoding: 'hex' | 'base64';
  }
> = {
  discord: { pair: ed25519, secret: (key) => rawEd25519(key).toString('hex'), hash: null, encoding: 'hex' },
  standard_webhooks_v1a: {
    pair: ed25519,
    secret: (key) => `whpk_${rawEd25519(key).toString('base64')}`,
    hash: null,
    encoding: 'base64',
  },
  sendgrid: { pair: p256, secret: (key) => spki(key).toString('base64'), hash: 'sha256', encoding: 'base64' },
};

export const PUBLIC_KEY_SCHEMES = Object.keys(KEY_PAIRS);

/** The first the scheme takes: what its sender shows may have a form. */
function secretOf(scheme: SignatureScheme, seed: string): string {
  const bytes = createHash('sha256').update(seed).digest();
  const found = [`${seed} of ${scheme.id}`, `whsec_${bytes.toString('base64')}`, bytes.toString('base64')].find(
    (secret) => scheme.checkSecret(secret) === null,
  );
  if (found === undefined) throw new Error(`No secret for ${scheme.id}.`);
  return found;
}

function sampleOf(scheme: SignatureScheme): SchemeSample {
  const row = ROWS.find(({ id }) => id === scheme.id) ?? null;
  const keys = KEY_PAIRS[scheme.id];
  const pair = keys?.pair();
  const secret = keys && pair ? keys.secret(pair.publicKey) : secretOf(scheme, 'one secret');
  const otherSecret = keys ? keys.secret(keys.pair().publicKey) : secretOf(scheme, 'another secret');
  const digest = (content: readonly Buffer[]): string | null =>
    keys && pair
      ? sign(keys.hash, Buffer.concat(content), pair.privateKey).toString(keys.encoding)
      : (row?.algorithm.sign(content, secret) ?? null);
  return {
    scheme,
    row,
    secret,
    otherSecret,
    request: (changes = {}) =>
      row ? signRow(row, digest, changes) : signPlainly(scheme, secret, changes.body ?? BODY),
  };
}

function signPlainly(scheme: SignatureScheme, secret: string, body: Buffer): SignedRequest {
  const signed = scheme.sign({ body, secret, now: NOW, url: URL_HERE, deliveryId: DELIVERY_ID });
  if (signed === null) throw new Error(`${scheme.id} does not sign.`);
  return signed;
}

type Changes = NonNullable<Parameters<SchemeSample['request']>[0]>;

function signRow(
  row: CompleteRow,
  digest: (content: readonly Buffer[]) => string | null,
  changes: Changes,
): SignedRequest {
  const { signature, timestamp, id } = changes.framing ?? row.framings.at(-1) ?? row.framings[0];
  const time = changes.timestamp ?? (row.time ? writeTime(NOW, row.time.unit) : null);
  const idText = id ? (changes.id ?? DELIVERY_ID) : null;
  const headers: Record<string, string> = {};
  let body = changes.body ?? BODY;
  const write = (place: Place, value: string): void => {
    const asNumber = 'path' in place && place.asNumber === true && /^\d+$/.test(value);
    if ('header' in place) headers[place.header] = value;
    else body = bodyWith(body, place.path, asNumber ? Number(value) : value) ?? body;
  };
  if (id && idText !== null) write(id, idText);
  if (timestamp && !('field' in timestamp) && time !== null) write(timestamp, time);
  const url = row.bodyHashParameter
    ? `${URL_HERE}?${row.bodyHashParameter}=${createHash('sha256').update(body).digest('hex')}`
    : URL_HERE;
  const content = new SignedContent(row.content).of({ method: 'POST', url, body, timestamp: time, id: idText });
  // An id that cannot be signed stands for itself: nobody accepts what is signed then.
  const item = `${signature.prefix ?? ''}${digest(content ?? [body])}`;
  write(signature, timestamp && 'field' in timestamp ? `${timestamp.field}${time}${signature.separator}${item}` : item);
  return { headers, body, url };
}

export const SAMPLES: readonly SchemeSample[] = SIGNATURE_SCHEMES.map(sampleOf);

/** The request as the ingress sees it. `headers`: pairs, so that one can come twice. */
export function incoming(
  { body, url }: SignedRequest,
  headers: readonly (readonly [string, string])[] | Readonly<Record<string, string>>,
): IncomingRequest {
  const pairs = Array.isArray(headers) ? headers : Object.entries(headers);
  return {
    method: 'POST',
    url,
    headers: new RawHeaders(pairs.flat()),
    body,
    json: () => {
      try {
        return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)) as unknown;
      } catch {
        return undefined;
      }
    },
  };
}
