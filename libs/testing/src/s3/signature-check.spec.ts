import { describe, expect, it } from 'vitest';
import { checkSignature, type SignedRequest } from './signature-check.js';

/** The example of the S3 API reference, "Authenticating Requests: Using Query Parameters". */
const PUBLISHED = {
  rules: {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    now: () => new Date('2013-05-24T12:00:00Z'),
  },
  target:
    '/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
};
const request = (changes: Partial<SignedRequest> = {}): SignedRequest => ({
  method: 'GET',
  target: PUBLISHED.target,
  headers: { host: 'examplebucket.s3.amazonaws.com' },
  body: Buffer.alloc(0),
  ...changes,
});

describe('the signature check of the test server', () => {
  it("agrees with Amazon's published example", () => {
    expect(checkSignature(request(), PUBLISHED.rules)).toBeNull();
  });

  it.each<[string, Partial<SignedRequest>]>([
    ['another path', { target: PUBLISHED.target.replace('test', 'best') }],
    ['another host', { headers: { host: 'other.s3.amazonaws.com' } }],
    ['another method', { method: 'HEAD' }],
    [
      'a header that is not signed',
      { headers: { host: 'examplebucket.s3.amazonaws.com', 'x-amz-acl': 'public-read' } },
    ],
    ['a parameter more', { target: `${PUBLISHED.target}&x=1` }],
  ])('refuses %s', (_, changes) => {
    expect(checkSignature(request(changes), PUBLISHED.rules)).toBe('SignatureDoesNotMatch');
  });

  it('refuses it a second after its day', () => {
    const late = { ...PUBLISHED.rules, now: () => new Date('2013-05-25T00:00:01Z') };
    expect(checkSignature(request(), late)).toBe('AccessDenied');
  });
});
