import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseUrl } from '#platform/kernel';
import { type IncomingRequest, RawHeaders, type SignatureScheme, type SignedRequest } from '#domain/webhooks';

export interface SchemeUnderTest {
  readonly scheme: SignatureScheme;
  /** A secret that the scheme accepts. */
  readonly secret: string;
  /** A body as the sender sends it. Default: `{"hello":"world"}`. */
  readonly body?: Buffer;
  /** Signs as the sender does, for schemes whose sender alone can sign. Default: {@link SignatureScheme.sign}. */
  readonly sign?: (body: Buffer, now: Date) => SignedRequest;
}

const URL_OF_REQUEST = 'https://hooks.example.com/webhooks/w/0123456789012345678901';
const NOW = new Date('2026-01-02T03:04:05Z');
const HOUR_MS = 3_600_000;

/** What every signature scheme must do with signed, changed and malformed requests. Call it at the top level of a test file. */
export function signatureSchemeConformance(name: string, under: SchemeUnderTest): void {
  const { scheme, secret, body = Buffer.from('{"hello":"world"}') } = under;
  const sign = (at = NOW): SignedRequest => {
    const signed =
      under.sign?.(body, at) ?? scheme.sign({ body, secret, now: at, url: URL_OF_REQUEST, deliveryId: randomUUID() });
    if (!signed) throw new Error(`The scheme ${scheme.id} cannot sign; pass \`sign\`.`);
    return signed;
  };
  const verifies = (request: SignedRequest, key = secret, now = NOW): boolean =>
    scheme.verify(toRequest(request), key, now);
  const { signatureHeaders } = scheme;

  describe(`${name} as a signature scheme`, () => {
    it('has an id in snake case, and a link to the documentation of the sender', () => {
      expect(scheme.id).toMatch(/^[a-z][a-z0-9_]{0,63}$/);
      expect(scheme.label.trim()).not.toBe('');
      expect(parseUrl(scheme.documentationUrl)).not.toBeNull();
    });

    it('accepts its secret, and rejects an empty and a blank one', () => {
      expect(scheme.checkSecret(secret)).toBeNull();
      for (const blank of ['', ' ', '\u200b']) {
        expect(scheme.checkSecret(blank)).toEqual(expect.any(String));
        expect(verifies(sign(), blank)).toBe(false);
      }
    });

    it('verifies what was signed, with the right secret only', () => {
      expect(verifies(sign())).toBe(true);
      expect(verifies(sign(), `${secret}x`)).toBe(false);
    });

    it('rejects a changed body', () => {
      const signed = sign();
      if (scheme.signedContent(toRequest(signed)) === null) return;
      expect(verifies({ ...signed, body: Buffer.concat([signed.body, Buffer.from(' ')]) })).toBe(false);
      expect(verifies({ ...signed, body: Buffer.alloc(0) })).toBe(false);
    });

    it('rejects a request whose signature header is missing, repeated, truncated or extended', () => {
      const signed = sign();
      for (const header of signatureHeaders) {
        const value = signed.headers[header];
        if (value === undefined) continue;
        const { [header]: _removed, ...rest } = signed.headers;
        expect(verifies({ ...signed, headers: rest })).toBe(false);
        expect(scheme.verify(toRequest(signed, [[header, value]]), secret, NOW)).toBe(false);
        for (const other of ['', value.slice(0, -1), `${value}0`])
          expect(verifies({ ...signed, headers: { ...rest, [header]: other } })).toBe(false);
      }
    });

    it('returns a result for every request, and never throws', () => {
      const bodies = ['', '{', 'null', '[]', '{"a":', '\u0000', '"'.repeat(100)].map((text) => Buffer.from(text));
      for (const hostile of bodies) {
        const request = { ...sign(), body: hostile };
        expect(typeof verifies(request)).toBe('boolean');
        expect(() => scheme.handshake(toRequest(request), secret)).not.toThrow();
        expect(() => scheme.extractSecret(toRequest(request))).not.toThrow();
      }
      expect(verifies({ headers: {}, body, url: URL_OF_REQUEST })).toBe(false);
    });

    it('covers the same bytes however often it is sent, so that a replay is recognised', () => {
      const request = toRequest(sign());
      expect(scheme.signedContent(request)).toEqual(scheme.signedContent(request));
    });

    it('signs a time, if any, that is valid for a while only', () => {
      const signed = sign();
      const later = verifies(signed, secret, new Date(NOW.getTime() + 24 * HOUR_MS));
      const earlier = verifies(signed, secret, new Date(NOW.getTime() - 24 * HOUR_MS));
      // Both or none: a scheme without a time accepts the request at any time.
      expect(later).toBe(earlier);
    });
  });
}

function toRequest(
  { headers, body, url }: SignedRequest,
  more: readonly (readonly [string, string])[] = [],
): IncomingRequest {
  const raw = [...Object.entries(headers), ...more].flat();
  return {
    method: 'POST',
    url,
    headers: new RawHeaders(raw),
    body,
    json: () => {
      try {
        return JSON.parse(body.toString()) as unknown;
      } catch {
        return undefined;
      }
    },
  };
}
