const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = new Set([0x5b, 0x7b]);
const CLOSE = new Set([0x5d, 0x7d]);
const COMMA = 0x2c;

export interface JsonShape {
  /** Deepest nesting of arrays and objects. */
  readonly depth: number;
  /** Approximate number of members and elements, which determines the memory of the parsed value. */
  readonly values: number;
}

/**
 * Scans JSON text before it is parsed: nesting and the number of values determine the memory that parsing needs, and 20 MB
 * of `[` would need gigabytes. The scan stops when a limit is exceeded. Strings are skipped by native code.
 */
export function scanJson(bytes: Buffer, limits: JsonShape): JsonShape {
  let depth = 0;
  let deepest = 0;
  let values = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0;
    if (byte === QUOTE) index = endOfString(bytes, index);
    else if (OPEN.has(byte)) {
      depth += 1;
      values += 1;
      deepest = Math.max(deepest, depth);
    } else if (CLOSE.has(byte)) depth -= 1;
    else if (byte === COMMA) values += 1;
    if (deepest > limits.depth || values > limits.values) break;
  }
  return { depth: deepest, values };
}

function endOfString(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(QUOTE, start + 1); end !== -1; end = bytes.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (bytes[end - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return bytes.length;
}

const SPACE = /[ \t\n\r]*/y;
const LITERAL = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
const STRING_PART = /[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Line and column (from 1) of the first error in a text that is not JSON. */
export function locateJsonError(text: string): { line: number; column: number } {
  const offset = firstError(text);
  const before = text.slice(0, offset);
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') };
}

function advance(pattern: RegExp, text: string, offset: number): number | null {
  pattern.lastIndex = offset;
  return pattern.test(text) ? pattern.lastIndex : null;
}

/** The offset after a string that begins at `start`, or of its first error. Linear: no pattern spans the whole string. */
function readString(text: string, start: number): { end: number } | { broken: number } {
  for (let offset = start + 1; ;) {
    if (text[offset] === '"') return { end: offset + 1 };
    const next = advance(STRING_PART, text, offset);
    if (next === null) return { broken: offset };
    offset = next;
  }
}

type Expect = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'comma or end' | 'nothing';

function firstError(text: string): number {
  const open: string[] = [];
  let expect: Expect = 'value';
  let offset = 0;
  const close = (): Expect => (open.length > 0 ? 'comma or end' : 'nothing');
  for (;;) {
    offset = advance(SPACE, text, offset) ?? offset;
    const mark = text[offset];
    const value: boolean = expect === 'value' || expect === 'value or ]';
    const key: boolean = expect === 'key' || expect === 'key or }';
    if (mark === '"' && (value || key)) {
      const string = readString(text, offset);
      if ('broken' in string) return string.broken;
      expect = key ? 'colon' : close();
      offset = string.end;
      continue;
    }
    if ((mark === '[' || mark === '{') && value) {
      open.push(mark);
      expect = mark === '[' ? 'value or ]' : 'key or }';
    } else if (mark === ':' && expect === 'colon') expect = 'value';
    else if (mark === ',' && expect === 'comma or end') expect = open.at(-1) === '[' ? 'value' : 'key';
    else if (mark === ']' && open.at(-1) === '[' && (expect === 'comma or end' || expect === 'value or ]')) {
      open.pop();
      expect = close();
    } else if (mark === '}' && open.at(-1) === '{' && (expect === 'comma or end' || expect === 'key or }')) {
      open.pop();
      expect = close();
    } else {
      const end = value ? advance(LITERAL, text, offset) : null;
      if (end === null) return offset;
      expect = close();
      offset = end;
      continue;
    }
    offset += 1;
  }
}
