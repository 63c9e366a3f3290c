import { describe, expect, it } from 'vitest';
import type { SignatureFraming } from './signature-framing.js';
import { SignatureSchemes } from './signature-schemes.js';
import { type SchemeRow, SignedScheme } from './signed-scheme.js';
import { hmac } from './signing-algorithm.js';

const signature = { header: 'x-signature' };
const timestamp = { header: 'x-time' };
const id = { header: 'x-id' };

const row = (framing: Partial<SignatureFraming>, rest: Partial<SchemeRow>): SchemeRow => ({
  id: 'example',
  label: 'Example',
  documentationUrl: 'https://example.com/',
  algorithm: hmac({ hash: 'sha256', encoding: 'hex' }),
  framings: [{ signature, ...framing }],
  content: '{body}',
  ...rest,
});

describe('a scheme row that relies on an unsigned value', () => {
  it.each<[string, SchemeRow, RegExp]>([
    ['a time that is not checked', row({ timestamp }, { content: '{timestamp}.{body}' }), /location without a time/],
    ['a time without a location', row({}, { time: { unit: 's' } }), /time without a location/],
    ['a time that is not signed', row({ timestamp }, { time: { unit: 's' } }), /time that is not signed/],
    ['an id that is not signed', row({ id }, {}), /id that is not signed/],
    ['a body that is not signed', row({}, { content: '{url}' }), /does not sign the body/],
    [
      'a hash in a query that is not signed',
      row({}, { content: 'x', bodyHashParameter: 'h' }),
      /URL that is not signed/,
    ],
    [
      'a field of a value that is not a list',
      row({ timestamp: { field: 't=' } }, { content: '{timestamp}.{body}', time: { unit: 's' } }),
      /a value that is not a list/,
    ],
    ['an unknown template value', row({}, { content: '{body}{host}' }), /unknown value host/],
  ])('throws in the constructor: %s', (_what, wrong, message) => {
    expect(() => new SignedScheme(wrong)).toThrow(message);
  });

  it('is a scheme when everything is signed, and can be registered once', () => {
    const scheme = new SignedScheme(
      row({ timestamp, id }, { content: '{id}.{timestamp}.{body}', time: { unit: 's' } }),
    );
    expect(scheme.signatureHeaders).toEqual(['x-signature', 'x-time']);
    expect(new SignatureSchemes([scheme]).find('example')).toBe(scheme);
    expect(new SignatureSchemes([scheme]).find('another')).toBeNull();
    expect(() => new SignatureSchemes([scheme, scheme])).toThrow(/two signature schemes with the id example/);
  });
});
