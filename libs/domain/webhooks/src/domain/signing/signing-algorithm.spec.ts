import { describe, expect, it } from 'vitest';
import { decodeStrictly, type TextEncoding } from './signing-algorithm.js';

describe('strict decoding', () => {
  it.each<[TextEncoding, string]>([
    ['hex', '00ff'],
    ['base64', 'AP8='],
    ['base64', '+/A='],
    ['base64url', '-_A'],
  ])('reads %s: %s', (encoding, text) => {
    expect(decodeStrictly(text, encoding)?.toString(encoding)).toBe(text);
  });

  it.each<[TextEncoding, string, string]>([
    ['hex', '', 'nothing'],
    ['hex', '0', 'half a byte'],
    ['hex', '00fF', 'upper case'],
    ['hex', '00f', 'an odd number'],
    ['hex', '00zz', 'another alphabet'],
    ['hex', '00ff ', 'a blank'],
    ['base64', 'AP8', 'no padding'],
    ['base64', 'AP8==', 'too much of it'],
    ['base64', 'AP9=', 'left-over bits'],
    ['base64', '-_A=', 'the alphabet of addresses'],
    ['base64', 'AP8=\n', 'a line break'],
    ['base64url', 'AP8=', 'padding'],
    ['base64url', '+/A', 'the usual alphabet'],
  ])('reads no %s of %j: %s', (encoding, text) => {
    expect(decodeStrictly(text, encoding)).toBeNull();
  });
});
