import { truncateUtf8 } from '#platform/kernel';

/** Most bytes of text that one tool's input or output shows. */
export const MAX_SHOWN_BYTES = 16_384;
const MAX_ITEMS = 100;
const MAX_DEPTH = 8;
const BINARY_KEYS = new Set(['data', 'blob', 'base64', 'bytes']);

export interface Summary<T> {
  value: T;
  truncated: boolean;
}

/** Text of at most about `maxBytes`: its beginning and its end, because errors are at the end. Binary data is replaced by its size. */
export function summariseText(text: string, maxBytes: number = MAX_SHOWN_BYTES): Summary<string> {
  if (isBinary(text)) return { value: `[binary data, ${Buffer.byteLength(text)} bytes]`, truncated: true };
  if (text.length * 3 <= maxBytes) return { value: text, truncated: false };
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return { value: text, truncated: false };
  const head = truncateUtf8(text, Math.floor(maxBytes / 2)).text;
  let from = bytes.length - Math.ceil(maxBytes / 2);
  while (from < bytes.length && ((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
  const left = from - Buffer.byteLength(head);
  return { value: `${head}\n[… ${left} bytes left out …]\n${bytes.subarray(from).toString('utf8')}`, truncated: true };
}

/** Any JSON value with at most about `maxBytes` of text, 100 items a level and 8 levels. */
export function summariseJson(value: unknown, maxBytes: number = MAX_SHOWN_BYTES): Summary<unknown> {
  let left = maxBytes;
  let truncated = false;
  const cut = (): null => {
    truncated = true;
    return null;
  };
  const shorten = (text: string): string => {
    const result = summariseText(text, left);
    truncated ||= result.truncated;
    left -= result.value.length;
    return result.value;
  };
  const walk = (node: unknown, depth: number): unknown => {
    if (left <= 0) return cut();
    if (typeof node === 'string') return shorten(node);
    left -= 4;
    if (typeof node !== 'object' || node === null) return node;
    if (depth >= MAX_DEPTH) return cut();
    if (Array.isArray(node)) {
      if (node.length > MAX_ITEMS) cut();
      return node.slice(0, MAX_ITEMS).map((item) => walk(item, depth + 1));
    }
    const entries = Object.entries(node);
    if (entries.length > MAX_ITEMS) cut();
    return Object.fromEntries(
      entries.slice(0, MAX_ITEMS).map(([key, item]) => {
        const name = key.length > 200 ? shorten(key.slice(0, 200).toWellFormed()) : key;
        left -= name.length;
        return [name, isEncodedBytes(key, item) ? binaryNote(item) : walk(item, depth + 1)];
      }),
    );
  };
  const binaryNote = (text: string): string => {
    truncated = true;
    return `[binary data, about ${Math.floor((text.length * 3) / 4)} bytes]`;
  };
  return { value: walk(value, 0), truncated };
}

/** The first non-blank line, for titles: at most 200 characters. */
export function firstLine(text: string): string | undefined {
  const line = /\S[^\r\n]*/.exec(text)?.[0].trim();
  if (line === undefined || line.length <= 200) return line;
  return `${line.slice(0, 199).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** Sanitising has turned bytes that are no text into U+FFFD: many of them, or control characters, mean binary data. */
function isBinary(text: string): boolean {
  const sample = text.slice(0, 2048);
  const odd = sample.match(/[\uFFFD\u0000-\u0006\u000e-\u001a]/g)?.length ?? 0;
  return odd > 8 && odd * 10 > sample.length;
}

function isEncodedBytes(key: string, value: unknown): value is string {
  return (
    BINARY_KEYS.has(key) &&
    typeof value === 'string' &&
    value.length >= 256 &&
    /^(?:data:[^,]{1,100},)?[A-Za-z0-9+/_=\r\n-]+$/.test(value)
  );
}
