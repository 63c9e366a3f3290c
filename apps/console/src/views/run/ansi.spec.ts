import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_SPANS, parseAnsi, plainText } from './ansi';

const ESC = '\u001b';
const textOf = (output: string): string =>
  parseAnsi(output)
    .map(({ text }) => text)
    .join('');

describe('parseAnsi', () => {
  it('splits output by colour and resets it', () => {
    expect(parseAnsi(`a ${ESC}[31mred${ESC}[0m ${ESC}[1;32mbold green${ESC}[22;39m b`)).toEqual([
      { text: 'a ', style: '' },
      { text: 'red', style: 'ansi-1' },
      { text: ' ', style: '' },
      { text: 'bold green', style: 'ansi-2 ansi-bold' },
      { text: ' b', style: '' },
    ]);
  });

  it.each([
    ['38;5;196', 'ansi-1'],
    ['38;5;21', 'ansi-4'],
    ['38;2;10;200;30', 'ansi-2'],
    ['38:5:226', 'ansi-3'],
    ['91', 'ansi-1'],
    ['44', 'ansi-back-4'],
    ['7', 'ansi-back-7'],
    ['31;7', 'ansi-back-1'],
    ['48;5;244', 'ansi-back-0'],
  ])('shows the colour %s as %s', (parameters, style) => {
    expect(parseAnsi(`${ESC}[${parameters}mx`)).toEqual([{ text: 'x', style }]);
  });

  it.each([
    ['a cursor movement', `a${ESC}[2Ab${ESC}[10;20Hc`, 'abc'],
    ['a link', `${ESC}]8;;javascript:alert(1)${ESC}\\text${ESC}]8;;${ESC}\\`, 'text'],
    ['a title', `${ESC}]0;title\u0007text`, 'text'],
    ['a device control string', `${ESC}Pq#0;2;0;0;0${ESC}\\text`, 'text'],
    ['a character set', `${ESC}(Btext`, 'text'],
    ['an unfinished sequence', `text${ESC}[31`, 'text'],
    ['control characters', `t\u0000e\u0008x\u009dt\u007f`, 'text'],
    ['a private mode', `${ESC}[?25ltext${ESC}[?1m`, 'text'],
    ['a progress bar', '10%\r50%\r100%\r\ndone\r', '100%\ndone'],
  ])('removes %s', (_name, output, text) => {
    expect(textOf(output)).toBe(text);
  });

  it('has a bounded number of spans, however often colours change', () => {
    const bomb = Array.from({ length: 50_000 }, (_, index) => `${ESC}[${30 + (index % 8)}mx`).join('');
    const spans = parseAnsi(bomb);
    expect(spans.length).toBe(MAX_SPANS);
    expect(textOf(bomb)).toBe('x'.repeat(50_000));
  });

  it('needs linear time for sequences that never end', () => {
    const started = performance.now();
    for (const part of [`${ESC}[`, `${ESC}]`, `${ESC}P`, `${ESC}[1;`, `${ESC}`, '\r']) parseAnsi(part.repeat(100_000));
    expect(performance.now() - started).toBeLessThan(5000);
  });

  it('keeps all printed text, never an escape, and no two neighbours of one style', () => {
    const piece = fc.oneof(
      fc.constantFrom(ESC, `${ESC}[`, `${ESC}[0m`, `${ESC}]0;`, '\u0007', '\u009b', '\n', ';', 'm', '38;5;', '38;2;'),
      fc.string({ maxLength: 8 }),
      fc.integer({ min: 0, max: 300 }).map((code) => `${ESC}[${code}m`),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const output = pieces.join('').replaceAll('\r', '');
        const spans = parseAnsi(output);
        const text = spans.map((span) => span.text).join('');
        expect(text).toBe(plainText(output));
        expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
        expect(spans.every((span, index) => span.text !== '' && span.style !== spans[index - 1]?.style)).toBe(true);
        for (const { style } of spans) expect(style).toMatch(/^(?:ansi-(?:back-)?(?:[0-7]|[a-z]+) ?)*$/);
      }),
      { numRuns: 500 },
    );
  });
});
