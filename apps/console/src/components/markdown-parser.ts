import { Lexer, type Token, Tokenizer, type TokensList } from 'marked';

const MAX_PARSED = 20_000;
/** The parser calls itself for each level, and reads the rest of the line in each. */
const TOO_DEEP = /^[ \t>\-*+\d.)]{200,}/m;
/** The time of the parser grows with the square of the number of these in a paragraph or an item of a list. */
const MARKS = /[_*~[`]/g;
const MAX_MARKS = 500;
/** The parser gives each row of a table as many cells as its head has. */
const MAX_CELLS = 10_000;
/** What the steps of the parser may read together, in characters: each can read all that follows in its paragraph. */
const MAX_READ = 3_000_000;
const BLANK_LINE = /\n[ \t]*\n/;
const LIST = /^ {0,3}(?:[*+-]|\d{1,9}[.)])(?:\s|$)/;
const QUOTED = /^ {0,3}>/;
const DEFINITION = /^ {0,3}\[/;
const QUOTE = /["'(]/;
/** Comparing a block, or a line of an item of a list, with all rules takes as long as reading so many characters. */
const READ_PER_BLOCK = 200;
const READ_PER_LINE = 100;
const LINE = /\n/g;
const WORD = /\S+/g;

function hasTooManyCells(paragraph: string): boolean {
  const lines = paragraph.split('\n');
  return lines.length * Math.max(...lines.map((line) => line.split('|').length)) > MAX_CELLS;
}

function paragraphOf(src: string): string {
  const end = src.search(BLANK_LINE);
  return end === -1 ? src : src.slice(0, end);
}

class CostlyError extends Error {}

/** Counts characters and not time, so that a text is shown in the same way on every machine. */
class ReadLimit {
  private read = 0;

  add(characters: number): void {
    this.read += characters;
    if (this.read > MAX_READ) throw new CostlyError();
  }
}

class BoundedTokenizer extends Tokenizer {
  constructor(private readonly limit: ReadLimit) {
    super();
  }

  /** The first rule that the parser tries for a block. */
  override space(src: string): ReturnType<Tokenizer['space']> {
    this.limit.add(READ_PER_BLOCK + paragraphOf(src).length);
    return super.space(src);
  }

  /** A quote that a line without a mark continues is read again, with all lines that follow in it. */
  override blockquote(src: string): ReturnType<Tokenizer['blockquote']> {
    if (QUOTED.test(src)) this.limit.add(paragraphOf(src).length);
    return super.blockquote(src);
  }

  override list(src: string): ReturnType<Tokenizer['list']> {
    if (LIST.test(src)) this.limit.add(src.length);
    return super.list(src);
  }

  /** The title of a definition can contain blank lines. */
  override def(src: string): ReturnType<Tokenizer['def']> {
    if (DEFINITION.test(src) && QUOTE.test(paragraphOf(src))) this.limit.add(src.length);
    return super.def(src);
  }

  /** The first rule that the parser tries within a paragraph. */
  override escape(src: string): ReturnType<Tokenizer['escape']> {
    this.limit.add(src.length);
    return super.escape(src);
  }
}

class BoundedLexer extends Lexer {
  constructor(private readonly limit = new ReadLimit()) {
    super({ gfm: true, tokenizer: new BoundedTokenizer(limit) });
  }

  /** Called for the text, and for each item of a list, after its lines were compared with the rules. */
  override blockTokens(src: string, tokens?: Token[], isClipped?: boolean): Token[];
  override blockTokens(src: string, tokens?: TokensList, isClipped?: boolean): TokensList;
  override blockTokens(src: string, tokens?: Token[], isClipped?: boolean): Token[] {
    this.limit.add((src.match(LINE)?.length ?? 0) * READ_PER_LINE);
    return super.blockTokens(src, tokens, isClipped);
  }

  override inlineTokens(src: string, tokens?: Token[]): Token[] {
    if ((src.match(MARKS)?.length ?? 0) > MAX_MARKS) throw new CostlyError();
    // At each character of a word the parser looks for an email address in the rest of the word.
    for (const [{ length }] of src.matchAll(WORD)) this.limit.add(length * length);
    return super.inlineTokens(src, tokens);
  }
}

/** Null: the text is shown as it was written. */
export function parseMarkdown(text: string): readonly Token[] | null {
  if (text.length > MAX_PARSED || TOO_DEEP.test(text) || text.split(BLANK_LINE).some(hasTooManyCells)) return null;
  try {
    return new BoundedLexer().lex(text);
  } catch {
    return null;
  }
}
