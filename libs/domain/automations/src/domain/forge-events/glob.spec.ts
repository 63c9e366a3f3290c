import { describe, expect, it } from 'vitest';
import { matchesGlob, MAX_WILDCARDS } from './glob.js';

describe('a pattern', () => {
  it.each([
    ['main', 'main', true],
    ['main', 'mai', false],
    ['main', 'main2', false],
    ['acme/*', 'acme/service', true],
    ['acme/*', 'acme/group/service', false],
    ['acme/*', 'acme', false],
    ['acme/**', 'acme/group/service', true],
    ['*/service', 'acme/service', true],
    ['**/service', 'acme/group/service', true],
    ['release/*.?', 'release/1.2', true],
    ['release/*.?', 'release/1.22', false],
    ['**', '', true],
    ['*', '', true],
    ['?', '', false],
    ['?', '/', false],
    ['**/*.ts', 'a.ts', true],
    ['**/*.ts', 'src/a.ts', true],
    ['**/a.ts', 'src/xa.ts', false],
    ['**/a.ts', 'src/lib/a.ts', true],
    ['src/**/a.ts', 'src/a.ts', true],
    ['src/**/a.ts', 'src/x/y/a.ts', true],
    ['src/**/a.ts', 'srca.ts', false],
    ['src/**', 'src/', true],
    ['.github/**', '.github/workflows/ci.yml', true],
    ['a*b*c', 'aXbYc', true],
    ['a*b*c', 'aXbY/c', false],
    ['a**b', 'aX/Yb', true],
    ['[ab].(c)+', '[ab].(c)+', true],
    ['[ab]', 'a', false],
    ['ä?', 'äö', true],
    ['**/b/*c', 'a/b/b/xc', true],
    ['**?**', 'a'.repeat(4096), true],
    ['**', 'a'.repeat(4097), false],
  ])('%.20s and %.20s: %s', (pattern, text, expected) => {
    expect(matchesGlob(text, pattern)).toBe(expected);
  });

  it('needs little time for a text that nearly matches', () => {
    const startedAt = performance.now();
    expect(matchesGlob(`${'a'.repeat(4000)}!`, '*a'.repeat(MAX_WILDCARDS))).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });
});
