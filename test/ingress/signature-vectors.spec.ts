import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { identityOf } from '../../libs/domain/webhooks/src/domain/delivery-identity.js';
import {
  SIGNATURE_SCHEMES,
  SignatureSchemes,
} from '../../libs/domain/webhooks/src/domain/signing/signature-schemes.js';
import { type IncomingRequest, RawHeaders } from '../../libs/domain/webhooks/src/domain/signing/incoming-request.js';

/** A request as a sender's library or documentation signs it; made elsewhere, with a clock that stands still. */
interface Vector {
  readonly scheme: string;
  readonly note: string;
  readonly secret: string;
  readonly method?: string;
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body_base64: string;
  readonly now_unix: number;
  readonly valid: boolean;
  readonly strict_valid?: boolean;
  readonly either_ok?: boolean;
  readonly delivery_id?: string | null;
}

const file = new URL('vectors.json', import.meta.url);
const all = (JSON.parse(readFileSync(file, 'utf8')) as { vectors: Vector[] }).vectors;
/** What a request that was signed by hand need not say. */
const VECTOR = { note: '', now_unix: 0, valid: true };
/** Named after the mode; the ingress's own tests post these. */
const vectors = all.filter(({ scheme }) => scheme !== 'token');
const schemes = new SignatureSchemes(SIGNATURE_SCHEMES);

function schemeOf(vector: Vector) {
  const scheme = schemes.find(vector.scheme === 'svix' ? 'standard_webhooks' : vector.scheme);
  if (scheme === null) throw new Error(`There is no scheme ${vector.scheme}.`);
  return scheme;
}

function requestOf({ method = 'POST', url, headers, body_base64 }: Vector): IncomingRequest {
  const body = Buffer.from(body_base64, 'base64');
  return {
    method,
    url: url ?? 'https://ingress.example/webhooks/w/wh_1',
    headers: new RawHeaders(Object.entries(headers).flat()),
    body,
    json: () => {
      try {
        return JSON.parse(body.toString('utf8')) as unknown;
      } catch {
        return undefined;
      }
    },
  };
}

describe('a request that was signed elsewhere', () => {
  it.each(vectors.map((vector) => [vector.scheme, vector.note, vector] as const))(
    '%s: %s',
    (_scheme, _note, vector) => {
      const accepted = schemeOf(vector).verify(requestOf(vector), vector.secret, new Date(vector.now_unix * 1000));
      if (vector.either_ok !== true) expect(accepted).toBe(vector.strict_valid ?? vector.valid);
    },
  );

  it('has the delivery id of its sender', () => {
    const named = vectors.filter(({ valid, delivery_id }) => valid && typeof delivery_id === 'string');
    const found = named.map((vector) =>
      identityOf(requestOf(vector), { deliveryIdHeader: null, scheme: schemeOf(vector) }),
    );
    expect(found.map(({ value }) => value)).toEqual(named.map(({ delivery_id }) => delivery_id));
    expect(found.every(({ kind }) => kind === 'scheme_header' || kind === 'scheme_body')).toBe(true);
  });

  it('exists for all schemes except those that are tested in signature-schemes.spec.ts and by hand below', () => {
    const accepted = new Set(
      vectors.filter(({ valid, strict_valid }) => strict_valid ?? valid).map((vector) => schemeOf(vector).id),
    );
    const without = schemes.all().filter(({ id }) => !accepted.has(id));
    expect(without.map(({ id }) => id)).toEqual(Object.keys(BY_HAND).sort());
  });
});

const BODY = '{"id":"evt_1","text":"za\u017c\u00f3\u0142\u0107"}';
const NOW = 1_790_000_000;
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SVIX_KEY = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
const mac = (content: string, key: string | Buffer = SECRET, hash = 'sha256') => createHmac(hash, key).update(content);
const svix = (family: string): Record<string, string> => ({
  [`${family}-id`]: 'msg_1',
  [`${family}-timestamp`]: String(NOW),
  [`${family}-signature`]: `v1,${mac(`msg_1.${NOW}.${BODY}`, SVIX_KEY).digest('base64')}`,
});

/** Written from what the senders document, without a line of the verifier. */
const BY_HAND: Record<string, Record<string, string>> = {
  buildkite: { 'X-Buildkite-Signature': `timestamp=${NOW},signature=${mac(`${NOW}.${BODY}`).digest('hex')}` },
  clerk: svix('svix'),
  customerio: { 'X-CIO-Timestamp': String(NOW), 'X-CIO-Signature': mac(`v0:${NOW}:${BODY}`).digest('hex') },
  incident_io: svix('webhook'),
  launchdarkly: { 'X-LD-Signature': mac(BODY).digest('hex') },
  terraform_cloud: { 'X-TFE-Notification-Signature': mac(BODY, SECRET, 'sha512').digest('hex') },
  workos: { 'WorkOS-Signature': `t=${NOW}000, v1=${mac(`${NOW}000.${BODY}`).digest('hex')}` },
};

describe('a request that was signed by hand', () => {
  it.each(Object.entries(BY_HAND))('as %s does', (scheme, headers) => {
    const vector = { scheme, headers, secret: SECRET, body_base64: Buffer.from(BODY).toString('base64') };
    const judge = (changes: Partial<Vector>): boolean =>
      schemeOf({ ...VECTOR, ...vector, ...changes }).verify(
        requestOf({ ...VECTOR, ...vector, ...changes }),
        changes.secret ?? SECRET,
        new Date(NOW * 1000),
      );
    expect(judge({})).toBe(true);
    expect(judge({ body_base64: Buffer.from(`${BODY} `).toString('base64') })).toBe(false);
    expect(judge({ secret: `whsec_${Buffer.alloc(32).toString('base64')}` })).toBe(false);
  });
});
