import { expect, it } from 'vitest';
import { parseUrl } from './parse-url.js';

it('reads an address', () => {
  expect(parseUrl('HTTPS://Example.com:443/a b')?.href).toBe('https://example.com/a%20b');
});

it.each(['', 'example.com', '/a', 'https://', 'https://a:b'])('finds no address in %j', (text) => {
  expect(parseUrl(text)).toBeNull();
});

// `URL.canParse` does not, in Node.js 20 and 22, after V8 has optimized the calls.
it('reads an address with other characters than ASCII in each of many calls', () => {
  for (let call = 0; call < 100_000; call += 1)
    if (parseUrl('https://bücher.example/ä')?.host !== 'xn--bcher-kva.example') expect.fail(`call ${call}`);
});
