import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalUrl } from './artifact.js';

const canonical = (text: string): string => {
  const result = canonicalUrl(text);
  return result.kind === 'url' ? result.url : `refused: ${result.detail}`;
};

describe('the canonical form of an address', () => {
  it.each([
    ['HTTPS://Example.COM/Path', 'https://example.com/Path'],
    ['https://bücher.example/ä', 'https://xn--bcher-kva.example/%C3%A4'],
    ['https://example.com:443/a', 'https://example.com/a'],
    ['http://example.com:80/a', 'http://example.com/a'],
    ['https://example.com:80/a', 'https://example.com:80/a'],
    ['https://example.com/a/', 'https://example.com/a'],
    ['https://example.com/a//', 'https://example.com/a'],
    ['https://example.com/', 'https://example.com'],
    ['https://example.com/?q=1', 'https://example.com?q=1'],
    ['https://example.com/a/?q=1/', 'https://example.com/a?q=1/'],
    ['https://example.com/a?#top', 'https://example.com/a'],
    ['https://example.com/a#top?b', 'https://example.com/a'],
    ['https://example.com/a?b=2&a=1&b=1', 'https://example.com/a?b=2&a=1&b=1'],
    ['https://example.com/a/../b/./c', 'https://example.com/b/c'],
    ['https://example.com/a//b', 'https://example.com/a//b'],
    ['https://example.com/%2f%2F', 'https://example.com/%2f%2F'],
    ['https://example.com/a b', 'https://example.com/a%20b'],
    ['  https://example.com/a ', 'https://example.com/a'],
    ['https://[2001:DB8::1]:443/x', 'https://[2001:db8::1]/x'],
  ])('of %s', (text, expected) => {
    expect(canonical(text)).toBe(expected);
  });

  it.each([
    ['', /absolute http/],
    ['example.com/a', /absolute http/],
    ['/a', /absolute http/],
    ['ftp://example.com/a', /absolute http/],
    ['javascript:alert(1)', /absolute http/],
    ['https://', /absolute http/],
    ['https://user@example.com/', /user name/],
    ['https://:secret@example.com/', /user name/],
    [`https://example.com/${'a'.repeat(2029)}`, /2048 characters/],
    [`https://example.com/${'ä'.repeat(400)}`, /when it is escaped/],
  ])('there is none of %s', (text, problem) => {
    expect(canonical(text)).toMatch(problem);
  });

  it('of the longest address', () => {
    const longest = `https://example.com/${'a'.repeat(2028)}`;
    expect(canonical(longest)).toBe(longest);
  });

  it('is its own canonical form', () => {
    const text = fc.oneof(
      fc.webUrl({ withFragments: true, withQueryParameters: true }),
      fc
        .tuple(
          fc.constantFrom('http://', 'HTTPS://', 'https://'),
          fc.constantFrom('h', 'H.Example:443', 'h:80', '0x7f.1', 'ä.example', '[::1]', 'h.'),
          fc.string({
            unit: fc.constantFrom('/', '.', '%2e', '%2F', 'a', 'ä', '?', '&', '#', ' ', '\\', ';', '%', "'"),
          }),
        )
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (url) => {
        const once = canonicalUrl(url);
        fc.pre(once.kind === 'url');
        expect(canonicalUrl(once.kind === 'url' ? once.url : '')).toEqual(once);
      }),
      { numRuns: 2000 },
    );
  });

  it('keeps the query as the standard writes it', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
        fc.pre(canonicalUrl(url).kind === 'url');
        expect(new URL(canonical(url)).search).toBe(new URL(url).search);
      }),
    );
  });
});
