import { describe, expect, it } from 'vitest';
import { decodeStrictly, type TextEncoding } from './signing-algorithm.js';

describe('strict decoding', () => {
  it.each<[TextEncoding, string]>([
    ['hex', '00ff'],
    ['base64', 'AP8='],
    ['base64', '+/A='],
    ['base64url', '-_A'],
  ])('decodes %s: %s', (encoding, text) => {
    expect(decodeStrictly(text, encoding)?.toString(encoding)).toBe(text);
  });

  it.each<[TextEncoding, string, string]>([
    ['hex', '', 'an empty text'],
    ['hex', '0', 'half a byte'],
    ['hex', '00fF', 'upper case'],
    ['hex', '00f', 'an odd number'],
    ['hex', '00zz', 'another alphabet'],
    ['hex', '00ff ', 'a space'],
    ['base64', 'AP8', 'no padding'],
    ['base64', 'AP8==', 'too much padding'],
    ['base64', 'AP9=', 'unused bits'],
    ['base64', '-_A=', 'the URL-safe alphabet'],
    ['base64', 'AP8=\n', 'a line break'],
    ['base64url', 'AP8=', 'padding'],
    ['base64url', '+/A', 'the standard alphabet'],
  ])('rejects %s %j: %s', (encoding, text) => {
    expect(decodeStrictly(text, encoding)).toBeNull();
  });
});
