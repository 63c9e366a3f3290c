export const REDACTED = '***';
/** Minimum length of a part of a value at a truncated end of a text. */
export const MIN_PART = 8;

export const longestFirst = (a: string, b: string): number => b.length - a.length;

/** Length of the longest real beginning of `needle` that `text` ends with, when it is at least `min`. */
export function beginningAtEnd(text: string, needle: string, min: number): number {
  const start = needle.slice(0, min);
  let position = text.indexOf(start, Math.max(0, text.length - needle.length + 1));
  for (; position >= 0; position = text.indexOf(start, position + 1)) {
    if (needle.startsWith(text.slice(position))) return text.length - position;
  }
  return 0;
}

/** Length of the longest real end of `needle` that `text` begins with, when it is at least MIN_PART. */
export function endAtBeginning(text: string, needle: string): number {
  const window = text.slice(0, needle.length - 1);
  const end = needle.slice(-MIN_PART);
  for (let position = window.lastIndexOf(end); position >= 0; position = window.lastIndexOf(end, position - 1)) {
    if (needle.endsWith(window.slice(0, position + end.length))) return position + end.length;
    if (position === 0) break;
  }
  return 0;
}

/** Shorter needles occur by chance in ordinary text without its spaces. */
const MIN_WRAPPED = 12;
/** Separators between digits: line ends and indents, also escaped as in JSON, spaces and colons. */
const SEPARATOR = /[\s:]|\\[nrt]/g;
/** Characters per digit with its separators, such as `6f ` and occasional line ends. */
const SPREAD = 4;

/** Finds base64 and hexadecimal digits of values in a text, with separators between them. */
export class WrappedNeedles {
  private readonly needles: readonly string[];
  private readonly window: number;

  constructor(digits: readonly string[]) {
    this.needles = [...new Set(digits.filter((needle) => needle.length >= MIN_WRAPPED))].sort(longestFirst);
    this.window = (this.needles[0]?.length ?? 0) * SPREAD;
  }

  replace(text: string): string {
    return this.needles.length === 0 ? text : this.replaceIn(text);
  }

  /** Length of the end of `text` that may be the beginning of a needle of which at least `min` digits are there. */
  beginningAtEnd(text: string, min: number): number {
    if (this.needles.length === 0) return 0;
    const { digits, places } = withoutSeparators(text, Math.max(0, text.length - this.window));
    const found = this.needles.reduce((most, needle) => Math.max(most, beginningAtEnd(digits, needle, min)), 0);
    return found === 0 ? 0 : text.length - (places[digits.length - found] ?? text.length);
  }

  /** Length of the beginning of `text` that may be the end of a needle. */
  endAtBeginning(text: string): number {
    if (this.needles.length === 0) return 0;
    const { digits, places } = withoutSeparators(text.slice(0, this.window), 0);
    const found = this.needles.reduce((most, needle) => Math.max(most, endAtBeginning(digits, needle)), 0);
    return found === 0 ? 0 : (places[found - 1] ?? -1) + 1;
  }

  private replaceIn(text: string): string {
    const bare = text.replace(SEPARATOR, '');
    if (bare.length === text.length) return text;
    const needle = this.needles.find((one) => bare.includes(one));
    if (needle === undefined) return text;
    const { digits, places } = withoutSeparators(text, 0);
    let [rest, from] = ['', 0];
    for (let at = digits.indexOf(needle); at >= 0; at = digits.indexOf(needle, at + needle.length)) {
      rest += text.slice(from, places[at]) + REDACTED;
      from = (places[at + needle.length - 1] ?? 0) + 1;
    }
    return this.replaceIn(rest + text.slice(from));
  }
}

/** `places`: index of each remaining character in the text. */
function withoutSeparators(text: string, from: number): { digits: string; places: number[] } {
  const places: number[] = [];
  let digits = '';
  let at = from;
  const keep = (to: number): void => {
    digits += text.slice(at, to);
    for (let place = at; place < to; place += 1) places.push(place);
  };
  SEPARATOR.lastIndex = from;
  for (let found = SEPARATOR.exec(text); found; found = SEPARATOR.exec(text)) {
    keep(found.index);
    at = found.index + found[0].length;
  }
  keep(text.length);
  return { digits, places };
}
