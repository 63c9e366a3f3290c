import { type CST, Lexer, Parser } from 'yaml';
import { MAX_DIAGNOSTICS } from '../definition.js';

/** Something wrong in YAML; `offset` in UTF-16 units from its beginning. */
export interface YamlFault {
  readonly code: string;
  readonly offset: number;
  readonly message: string;
}

/** Levels of nesting; payloads that people filter have a handful. */
export const MAX_DEPTH = 64;
/**
 * Words, signs and line breaks of a whole definition's YAML, and eight characters of a long one for another: some
 * microseconds each, even where they are faults. Reading never holds up other requests for long; a long automation has a
 * thousand.
 */
const MAX_LEXEMES = 200_000;
const LEXEME_LENGTH = 8;

export class LexemeBudget {
  private left = MAX_LEXEMES;

  get isSpent(): boolean {
    return this.left < 0;
  }

  /** Whether there was enough left. */
  take({ length }: string): boolean {
    this.left -= 1 + Math.floor(length / LEXEME_LENGTH);
    return this.left >= 0;
  }
}

/** `tokens` are null where composing them makes no sense, or would not be safe. */
interface ScannedYaml {
  readonly tokens: readonly CST.Token[] | null;
  readonly faults: readonly YamlFault[];
}

const REFUSED: Readonly<Partial<Record<CST.Token['type'], Omit<YamlFault, 'offset'>>>> = {
  anchor: { code: 'yaml_anchor', message: 'Anchors (&name) are not supported: write the value where it is needed.' },
  alias: { code: 'yaml_alias', message: 'Aliases (*name) are not supported: write the value where it is needed.' },
  tag: { code: 'yaml_tag', message: 'Tags (!name) are not supported: values are what they look like.' },
  directive: { code: 'yaml_directive', message: 'Directives (%…) are not supported.' },
};

/** The syntax of YAML, and in it what definitions do not take part in. Linear; recursion is left to nobody. */
export function scanYaml(text: string, budget: LexemeBudget): ScannedYaml {
  // That has been said of the file before.
  if (budget.isSpent) return { tokens: null, faults: [] };
  const tokens = tokensOf(text, budget);
  if (tokens === undefined) {
    const message =
      'All YAML of a definition together is too long to be read: split the definition, or shorten filters.';
    return { tokens: null, faults: [{ code: 'yaml_too_long', offset: 0, message }] };
  }
  const faults = tokens.flatMap((token) => refusal(token));
  const [, second] = tokens.filter(({ type }) => type === 'document');
  if (second) {
    const message = 'One document a file: there is a second one here.';
    faults.push({ code: 'yaml_several_documents', offset: offsetOf(second), message });
  }
  const isDeep = inspect(tokens, faults);
  const isOther = second !== undefined || faults.some(({ code }) => code === 'yaml_directive');
  return { tokens: isDeep || isOther ? null : tokens, faults: firstOf(faults) };
}

function tokensOf(text: string, budget: LexemeBudget): CST.Token[] | undefined {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    if (!budget.take(lexeme)) return undefined;
    for (const token of parser.next(lexeme)) tokens.push(token);
  }
  for (const token of parser.end()) tokens.push(token);
  return tokens;
}

/** Notes what is refused inside of documents; tells whether they are too deep to be composed, which recurses. */
function inspect(tokens: readonly CST.Token[], faults: YamlFault[]): boolean {
  const left = tokens.flatMap((token) => (token.type === 'document' ? inDocument(token) : []));
  let isDeep = false;
  for (let step = left.pop(); step; step = left.pop()) {
    const { token, depth } = step;
    faults.push(...refusal(token));
    if (!('items' in token)) continue;
    if (depth < MAX_DEPTH)
      for (const item of token.items) for (const part of partsOf(item)) left.push({ token: part, depth: depth + 1 });
    else if (!isDeep) {
      isDeep = true;
      faults.push({
        code: 'yaml_too_deep',
        offset: token.offset,
        message: `Values nest at most ${MAX_DEPTH} levels deep.`,
      });
    }
  }
  return isDeep;
}

interface Step {
  readonly token: CST.Token;
  readonly depth: number;
}

const inDocument = ({ start, value }: CST.Document): Step[] =>
  [...start, ...(value ? [value] : [])].map((token) => ({ token, depth: 0 }));

const partsOf = ({ start, key, sep, value }: CST.CollectionItem): CST.Token[] => [
  ...start,
  ...(key ? [key] : []),
  ...(sep ?? []),
  ...(value ? [value] : []),
];

function refusal(token: CST.Token): YamlFault[] {
  const known = REFUSED[token.type];
  return known ? [{ ...known, offset: offsetOf(token) }] : [];
}

const firstOf = (faults: readonly YamlFault[]): YamlFault[] =>
  [...faults].sort((one, other) => one.offset - other.offset).slice(0, MAX_DIAGNOSTICS);

const offsetOf = (token: CST.Token): number => token.offset;
