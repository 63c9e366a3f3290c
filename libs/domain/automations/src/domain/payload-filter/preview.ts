import { escapeUnits } from '../placeholders.js';
import { isObject } from './filter.js';

export type Path = readonly (string | number)[];

/** Characters. */
const MAX_VALUE = 100;
const MAX_LIST = 100;
const MAX_LISTED = 40;
const MAX_KEY = 40;
const MAX_PATH = 90;
const ELLIPSIS = '…';

/** Any value in one line of at most 100 characters, as JSON if it fits. Reads no more than it shows. */
export function preview(value: unknown, limit = MAX_VALUE): string {
  if (typeof value === 'string') return `"${escaped(value, limit - 2)}"`;
  if (Array.isArray(value)) return previewArray(value, limit);
  if (isObject(value)) return previewObject(value);
  return String(value);
}

/** The values of a set in one line of at most 115 characters: `"a", "b" and 30 more`. */
export function previewList(values: ReadonlySet<unknown>): string {
  const shown: string[] = [];
  let length = 0;
  for (const value of values) {
    const text = preview(value, MAX_LISTED);
    length += text.length + 2;
    if (length > MAX_LIST) break;
    shown.push(text);
  }
  const more = values.size - shown.length;
  return more === 0 ? shown.join(', ') : `${shown.join(', ')} and ${more} more`;
}

/** `` `data.labels[0].name` ``, at most 92 characters; the payload itself is “the body”. */
export function previewPath(path: Path): string {
  if (path.length === 0) return 'the body';
  const whole = path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : keyStep(step, index === 0)))
    .join('');
  return `\`${whole.length <= MAX_PATH ? whole : `${ELLIPSIS}${[...whole.slice(1 - MAX_PATH)].filter(isWhole).join('')}`}\``;
}

function keyStep(key: string, isFirst: boolean): string {
  if (isPlainName(key)) return `${isFirst ? '' : '.'}${escaped(key, MAX_KEY)}`;
  return `["${escaped(key, MAX_KEY).replaceAll('`', '\\u0060')}"]`;
}

/** ASCII letters, digits, `_`, `$`, `-`. Reads no more of a key than is shown. */
const isPlainName = (key: string): boolean => /^[A-Za-z_$][\w$-]*$/.test(key.slice(0, MAX_KEY + 1));

const isWhole = (symbol: string): boolean => symbol.length > 1 || symbol.charCodeAt(0) >> 11 !== 0x1b;

function previewObject(object: object): string {
  for (const key in object) if (Object.hasOwn(object, key)) return '{…}';
  return '{}';
}

function previewArray(values: readonly unknown[], limit: number): string {
  let text = '';
  for (const [index, value] of values.entries()) {
    const shown = Array.isArray(value) ? (value.length === 0 ? '[]' : '[…]') : preview(value, MAX_LISTED);
    const next = index === 0 ? shown : `${text}, ${shown}`;
    if (next.length > limit - 5) return `[${text}, ${ELLIPSIS}]`;
    text = next;
  }
  return `[${text}]`;
}

/** As in a JSON string, with invisible and direction-changing characters escaped; at most `limit` characters. */
function escaped(text: string, limit: number): string {
  let result = '';
  // One more UTF-16 unit than the limit shows whether the text is longer.
  for (const symbol of text.slice(0, limit + 1)) {
    const shown = INVISIBLE.test(symbol) ? escapeOf(symbol) : symbol;
    if (result.length + shown.length > limit) return cut(result, limit);
    result += shown;
  }
  return text.length > limit + 1 ? cut(result, limit) : result;
}

function cut(text: string, limit: number): string {
  return `${[...text.slice(0, limit - 1)].filter(isWhole).join('')}${ELLIPSIS}`;
}

function escapeOf(symbol: string): string {
  if (symbol === '"' || symbol === '\\') return `\\${symbol}`;
  const short = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[symbol];
  if (short !== undefined) return short;
  return escapeUnits(symbol);
}

/** Quotes, backslashes, lone surrogates, and characters that are invisible or change the direction of the text. */
const INVISIBLE =
  /[\u0000-\u001f"\\\u007f-\u00a0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/u;
