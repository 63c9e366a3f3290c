import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareLines, unifiedLines } from './line-diff';

const text = (lines: ReturnType<typeof compareLines>): string[] => lines.map((line) => line.text);

describe('compareLines', () => {
  it('shows changed lines with three lines around them', () => {
    const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].join('\n');
    expect(text(compareLines(before, before.replace('e', 'E')))).toEqual([
      ...['…', ' b', ' c', ' d', '-e', '+E', ' f', ' g', ' h', '…'],
    ]);
  });

  it('shows a new file as added and an emptied one as removed', () => {
    expect(text(compareLines('', 'a\nb\n'))).toEqual(['+a', '+b']);
    expect(text(compareLines('a\nb\n', ''))).toEqual(['-a', '-b']);
  });

  it('keeps equal lines between changed ones', () => {
    expect(text(compareLines('a\nb\nc\nd', 'b\nx\nd\ne'))).toEqual(['-a', ' b', '-c', '+x', ' d', '+e']);
    expect(compareLines('a\n', 'a\n').filter(({ kind }) => kind !== 'same' && kind !== 'place')).toEqual([]);
  });

  it('compares large texts without a table of all pairs', () => {
    const [before, after] = ['a', 'b'].map((letter) =>
      Array.from({ length: 20_000 }, (_, index) => `${letter} ${index}`).join('\n'),
    );
    expect(compareLines(before ?? '', after ?? '').length).toBe(40_000);
  });

  it('removes the lines of the one text and adds those of the other', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 7 });
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const shown = compareLines(before.join('\n'), after.join('\n'));
        const count = (all: readonly string[], line: string): number => all.filter((other) => other === line).length;
        for (const line of ['a', 'b', 'c', 'd']) {
          const difference = count(text(shown), `+${line}`) - count(text(shown), `-${line}`);
          expect(difference).toBe(count(after, line) - count(before, line));
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('unifiedLines', () => {
  it('leaves out what names the file, also where lines of the file look like it', () => {
    const diff = '--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n--- old\n same';
    expect(unifiedLines(diff).map(({ kind }) => kind)).toEqual(['place', 'removed', 'same']);
  });
});
