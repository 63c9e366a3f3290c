import { truncateUtf8 } from '#platform/kernel';

/** Keeps both ends: commands print what they do at the beginning, and errors at the end. */
export function shrinkText(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text;
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return text;
  const head = truncateUtf8(text, Math.floor(maxBytes / 2)).text;
  const tail = Buffer.from(text, 'utf8').subarray(bytes - Math.floor(maxBytes / 2));
  let start = 0;
  while (start < 4 && ((tail[start] ?? 0) & 0xc0) === 0x80) start += 1;
  const rest = tail.toString('utf8', start);
  return `${head}\n… [${bytes - Buffer.byteLength(head) - Buffer.byteLength(rest)} bytes left out] …\n${rest}`;
}

/** Shrinks every string of a JSON value that is longer than `maxBytes`. */
export function shrinkStrings(value: unknown, maxBytes: number): unknown {
  if (typeof value === 'string') return shrinkText(value, maxBytes);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => shrinkStrings(item, maxBytes));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shrinkStrings(item, maxBytes)]));
}

/** A JSON value of at most `maxBytes`: with long strings shrunk or, if that is not enough, replaced by its size. */
export function shrinkJson(value: unknown, maxBytes: number): unknown {
  if (value === undefined) return undefined;
  const whole = jsonBytes(value);
  if (whole <= maxBytes) return value;
  for (let limit = Math.floor(maxBytes / 2); limit >= 1024; limit = Math.floor(limit / 4)) {
    const smaller = shrinkStrings(value, limit);
    if (jsonBytes(smaller) <= maxBytes) return smaller;
  }
  return { truncated: true, size_bytes: whole };
}

export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}
