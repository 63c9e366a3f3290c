/** How a digest, a signature or a key is written. Hexadecimal is lower case. */
export type TextEncoding = 'hex' | 'base64' | 'base64url';

/**
 * The bytes of a text that says them in exactly one way: right alphabet, right padding, no left-over bits. Null for
 * everything else, where Node's own decoder would skip what it does not know.
 */
export function decodeStrictly(text: string, encoding: TextEncoding): Buffer | null {
  const bytes = Buffer.from(text, encoding);
  return bytes.length > 0 && bytes.toString(encoding) === text ? bytes : null;
}
