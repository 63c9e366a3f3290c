import { describe, expect, it } from 'vitest';
import { parseMarkdown } from './markdown-parser';

describe('parseMarkdown', () => {
  it('parses a usual text', () => {
    expect(parseMarkdown('# Title\n\nSome *emphasis*.')?.map(({ type }) => type)).toContain('paragraph');
  });

  it.each(['_', '*', '~', '[', '`'])('leaves a paragraph with very many %s as it was written', (mark) => {
    expect(parseMarkdown(`${mark}a`.repeat(501))).toBeNull();
    expect(parseMarkdown(`First.\n \n${`${mark}a\n`.repeat(501)}`)).toBeNull();
  });

  it('parses as many marks in several paragraphs', () => {
    expect(parseMarkdown('`a` `b`\n\n'.repeat(300))).not.toBeNull();
  });

  it('leaves a table with very many cells as it was written', () => {
    expect(parseMarkdown(`${'a|'.repeat(2500)}\n${'-|'.repeat(2500)}\n${'b\n'.repeat(4900)}`)).toBeNull();
    const columns = 10;
    const table = ['a|', '-|', ...Array<string>(200).fill('b|')].map((cell) => cell.repeat(columns)).join('\n');
    expect(parseMarkdown(table)?.map(({ type }) => type)).toEqual(['table']);
  });

  it('leaves a very long text as it was written', () => {
    expect(parseMarkdown('a '.repeat(10_001))).toBeNull();
  });
});
