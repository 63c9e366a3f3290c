import { describe, expect, it } from 'vitest';
import { lineDiff } from './line-diff.js';

const show = (before: string, after: string): string =>
  lineDiff(before, after)
    .map(({ kind, text }) => `${{ same: ' ', added: '+', removed: '-' }[kind]}${text}`)
    .join('\n');

describe('lineDiff', () => {
  it('shows changed lines with three lines around them', () => {
    expect(show('1\n2\n3\n4\n5\n6\n7\n8\n9\n', '1\n2\n3\n4\nfive\n6\n7\n8\n9\n')).toBe(
      ' 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8',
    );
  });

  it('shows new, removed and equal files', () => {
    expect(show('', 'a\nb\n')).toBe('+a\n+b');
    expect(show('a\n', '')).toBe('-a');
    expect(lineDiff('a\n', 'a\n').filter(({ kind }) => kind !== 'same')).toEqual([]);
    expect(show('a\nb\nc\nd', 'b\nx\nd\ne')).toBe('-a\n b\n-c\n+x\n d\n+e');
  });

  it('shows a file that is too large to be compared as replaced', () => {
    const text = (prefix: string) => Array.from({ length: 3000 }, (_, line) => `${prefix}${line}`).join('\n');
    expect(lineDiff(text('a'), text('b'))).toHaveLength(6000);
  });
});
