import { applyPatch } from 'diff';
import { describe, expect, it } from 'vitest';
import { unifiedDiff } from './unified-diff.js';

const numbered = (count: number, prefix = ''): string =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}\n`).join('');
const diff = (old: string, current: string, timeoutMs: number): string =>
  unifiedDiff({ from: 'a.txt', to: 'a.txt', old, current }, timeoutMs);

describe('unifiedDiff', () => {
  it.each([
    ['a changed line', '1\n2\n3\n4\n5\n', '1\n2\nx\n4\n5\n'],
    ['added lines', '1\n2\n', '1\nx\n2\ny\n'],
    ['removed lines', '1\n2\n3\n', '2\n'],
    ['no line break at the end', '1\n2', '1\nx'],
    ['a line break that is added', '1\n2', '1\n2\n'],
    ['repeated lines', '1\n1\n1\n', '1\n1\n'],
    ['an empty text before', '', '1\n2\n'],
    ['an empty text after', '1\n2\n', ''],
    ['other line breaks', '1\n2\n', '1\r\n2\r\n'],
    ['nothing in common', numbered(50), numbered(60, 'x')],
    ['changes at both ends of a long text', `x\n${numbered(99)}y\n`, `${numbered(99)}z\n`],
  ])('can be applied, with and without the time to find the shortest: %s', (_name, old, current) => {
    for (const timeoutMs of [1000, 0]) expect(applyPatch(old, diff(old, current, timeoutMs))).toBe(current);
  });

  it('has three lines around the block', () => {
    expect(diff(numbered(9), numbered(9).replace('4', 'x'), 0)).toBe(
      diff(numbered(9), numbered(9).replace('4', 'x'), 1000),
    );
  });

  it('names a new and a deleted file as git does', () => {
    const parts = { from: undefined, to: 'b.txt', old: '', current: '1\n' };
    expect(unifiedDiff(parts, 0)).toBe(unifiedDiff(parts, 1000));
    expect(unifiedDiff(parts, 0)).toContain('--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1,1 @@\n+1\n');
  });

  it('ends in time for texts without a common line', () => {
    const [old, current] = [numbered(20_000), numbered(20_000, 'x')];
    const startedAt = performance.now();
    expect(applyPatch(old, diff(old, current, 20))).toBe(current);
    // The shortest one takes minutes.
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});
