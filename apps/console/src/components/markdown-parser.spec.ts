import fc from 'fast-check';
import { lexer } from 'marked';
import { describe, expect, it } from 'vitest';
import { parseMarkdown } from './markdown-parser';

const MAX = 20_000;
const filledWith = (unit: string, length = MAX): string => unit.repeat(Math.floor(length / unit.length));

/** Texts, or beginnings of texts, for which a parser may need time that grows with the square of their length. */
const COSTLY = {
  'a list with lazy lines': `- a\n${filledWith('a\n', MAX - 4)}`,
  'a numbered list with lazy lines and spaces': `1. a\n${filledWith('  !)\n', MAX - 5)}`,
  'a list in a list in a list': filledWith('- - - a\nb\n'),
  'markers of lists with tabs': `${filledWith('+ \t', MAX / 2)}${filledWith('http://\n', MAX / 2)}`,
  'markers of lists and lazy lines': `${filledWith('- ', MAX / 2)}x\n${filledWith('-->\n', MAX / 2 - 2)}`,
  'many levels of lists with lazy lines': `${'- '.repeat(90)}a\n${filledWith('a\n', MAX - 182)}`,
  'many levels of lists and quotes with lazy lines': `${'* + '.repeat(45)}a\n${filledWith('\\\n', MAX - 182)}`,
  'lists that become deeper': Array.from({ length: 139 }, (_, depth) => `${'  '.repeat(depth)}- a\n`).join(''),
  'nested quotes': filledWith('>>> \r\n\\\n'),
  'quotes with lazy lines': filledWith('> - > a\nb\n'),
  'quotes that become deeper': Array.from({ length: 190 }, (_, depth) => `${'>'.repeat(depth)} a\n`).join(''),
  'runs of emphasis': filledWith('**a *b __c '),
  'emphasis in several paragraphs': filledWith(`${filledWith('**a@', 980)}\n\n`),
  'emphasis that is not closed, far apart': filledWith(`*a${' a'.repeat(20)}`),
  'opening brackets': filledWith('['),
  'brackets with text': filledWith(`[${'a\n'.repeat(18)}`),
  'links that are not closed': filledWith(`[a](b "${' a'.repeat(18)}`),
  'a table with many columns': `${filledWith('a|', 900)}\n${filledWith('-|', 900)}\n${filledWith('b\n', 18_000)}`,
  'rows that end a paragraph': filledWith('a\n|-|\n'),
  'backticks of growing length': Array.from({ length: 190 }, (_, length) => `${'`'.repeat(length)} `).join(''),
  'code that is not closed': filledWith(`\`${'a '.repeat(20)}`),
  'tags that are not closed': filledWith('<a b="'),
  'comments that are not closed': filledWith('a <!-- '),
  'instructions that are not closed': filledWith('a <? <![CDATA[ '),
  'blocks of HTML in a list': `- a\n${filledWith('</\n    ', MAX - 4)}`,
  'definitions with titles that are not closed': filledWith('[a]: b "\n\n'),
  'definitions and references': `${filledWith('[a]: b\n', MAX / 2)}\n${filledWith('![a][a] ', MAX / 2 - 1)}`,
  'addresses without spaces': filledWith('http://'),
  'a word of punctuation': filledWith('!'),
  'a word before a sign of an email address': filledWith('a.b@', MAX / 2) + filledWith('a', MAX / 2),
  'underlines of headings': filledWith('a\n  \n--\n'),
  spaces: `a${filledWith(' ', MAX - 2)}b`,
  'lines of spaces': filledWith('a   \n  \t'),
};

const PIECE = fc.constantFrom(
  ...[
    'a',
    'a ',
    'aaaa ',
    '\n',
    '\n\n',
    'a\n',
    ' ',
    '    ',
    '\t',
    '- ',
    '* ',
    '1. ',
    '- [ ] ',
    '> ',
    '>>',
    '# ',
    '|',
    '-|',
  ],
  ...[
    '---',
    '===',
    '```',
    '~~~',
    '`',
    '*',
    '**',
    '_',
    '~~',
    '[',
    '](',
    '[a]',
    '[a]: b',
    '[a]: b "',
    '![',
    ')',
    '(',
    '"',
  ],
  ...[
    '<',
    '<a ',
    '<a b="',
    '<!--',
    '-->',
    '<?',
    '<![CDATA[',
    '<div>',
    '<pre>',
    '&amp;',
    '\\',
    '!',
    ':',
    'http://',
    'www.',
  ],
  ...['a@', 'a@b', 'mailto:', '\r\n', '\f', 'é', '“', '\n- ', '\n  ', '\n>\n', 'a  \n'],
);
const pieces = (constraints: fc.ArrayConstraints): fc.Arbitrary<string> =>
  fc.array(PIECE, constraints).map((parts) => parts.join(''));
/** A unit, each time with space up to the next, repeated in one paragraph or several. */
const REPEATED = fc
  .record({
    before: pieces({ maxLength: 2 }),
    unit: pieces({ minLength: 1, maxLength: 4 }),
    space: fc.constantFrom('', 'a ', 'a\n', '- ', ' '),
    count: fc.integer({ min: 40, max: MAX }),
    paragraphs: fc.constantFrom(1, 1, 1, 20, 100),
    after: pieces({ maxLength: 2 }),
  })
  .map(({ before, unit, space, count, paragraphs, after }) => {
    const spaces = space === '' ? '' : filledWith(space, Math.max(0, MAX / count - unit.length));
    const paragraph = filledWith(unit + spaces, MAX / paragraphs - 2);
    return `${before}${`${paragraph}\n\n`.repeat(paragraphs)}`.slice(0, MAX - after.length) + after;
  });

/** Of Node.js, whose types are not those of the console. */
declare const process: {
  cpuUsage(before?: { user: number; system: number }): { user: number; system: number };
};

/** Of the processor, so that other processes do not count; the shortest of several, because the first ones include compilation. */
function timeOf(work: () => unknown, attempts: number): number {
  const times = Array.from({ length: attempts }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.min(...times);
}

/** Time of the parser without limits for a list with 2,500 lazy lines: about 45 ms. For 10,000 lines it is 16 times as long. */
const REFERENCE = timeOf(() => lexer(`- a\n${'a\n'.repeat(2_500)}`, { gfm: true }), 5);

function expectShortTime(text: string): void {
  expect(text.length).toBeLessThanOrEqual(MAX);
  const isShort = (attempts: number): boolean => timeOf(() => parseMarkdown(text), attempts) < 2 * REFERENCE;
  // Measured again only if it seems to be long, so that many texts can be tried.
  if (!isShort(1) && !isShort(5)) expect.fail(`takes too long: ${JSON.stringify(text.slice(0, 200))}…`);
}

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

  it.each(Object.entries(COSTLY))('takes no long time for %s', (_name, text) => expectShortTime(text));

  it('takes no long time for repeated pieces of Markdown', { timeout: 120_000 }, () =>
    fc.assert(fc.property(REPEATED, expectShortTime), { seed: 1, numRuns: 200 }),
  );

  it('leaves a list with thousands of lazy lines as it was written', () => {
    expect(parseMarkdown(COSTLY['a list with lazy lines'])).toBeNull();
  });

  it('parses long usual texts as the parser does without limits', () => {
    const usual = [
      filledWith('- An item with `code`, **strong text** and [a link](https://example.com/a).\n  A second line.\n'),
      filledWith('1. A step:\n\n   ```sh\n   npm test\n   ```\n\n   - a detail\n   - another detail\n'),
      filledWith(`${filledWith('A sentence with *emphasis* that is long. ', 1_000)}\n\n> A quote.\n\n`),
      `\`\`\`ts\n${filledWith('const text = lines.map((line) => line.trim());\n', 19_900)}\`\`\`\n`,
      `| name | value |\n| --- | --- |\n${filledWith('| `a` | a short description of it |\n', 8_000)}`,
      filledWith('<details>\n<summary>A summary</summary>\n\nA text with www.example.com.\n\n</details>\n\n'),
    ];
    for (const text of usual) expect(parseMarkdown(text)).toEqual(lexer(text, { gfm: true }));
  });
});
