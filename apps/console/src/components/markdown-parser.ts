import { lexer, type Token } from 'marked';

const MAX_PARSED = 20_000;
/** The parser calls itself for each level. */
const TOO_DEEP = /^[ >\-*+\d.)]{200,}/m;
/** The time of the parser grows with the square of the number of these in a paragraph. */
const MARKS = /[_*~[`]/g;
const MAX_MARKS = 500;
/** The parser gives each row of a table as many cells as its head has. */
const MAX_CELLS = 10_000;
const BLANK_LINE = /\n[ \t]*\n/;

const hasTooManyMarks = (paragraph: string): boolean => (paragraph.match(MARKS)?.length ?? 0) > MAX_MARKS;

function hasTooManyCells(paragraph: string): boolean {
  const lines = paragraph.split('\n');
  return lines.length * Math.max(...lines.map((line) => line.split('|').length)) > MAX_CELLS;
}

const isCostly = (text: string): boolean =>
  text.split(BLANK_LINE).some((paragraph) => hasTooManyMarks(paragraph) || hasTooManyCells(paragraph));

/** Null: the text is shown as it was written. */
export function parseMarkdown(text: string): readonly Token[] | null {
  if (text.length > MAX_PARSED || TOO_DEEP.test(text) || isCostly(text)) return null;
  try {
    return lexer(text, { gfm: true });
  } catch {
    return null;
  }
}
