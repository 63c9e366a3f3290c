/** Whether PostgreSQL can store this text unchanged: no NUL, no lone surrogate. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Whether a number is not stored with hundreds of digits: PostgreSQL writes JSON without exponents. */
function isStorableNumber(number: number): boolean {
  const size = Math.abs(number);
  return number === 0 || (size >= 1e-30 && size <= 1e30);
}

/** Replaces NUL and lone surrogates by U+FFFD; `changed` tells whether anything was replaced. */
export function toStorableText(text: string): { text: string; changed: boolean } {
  if (isStorableText(text)) return { text, changed: false };
  return { text: text.toWellFormed().replaceAll('\0', '\uFFFD'), changed: true };
}

/**
 * Applies {@link toStorableText} to every string and key of a JSON value, to a depth of 64; deeper parts become null. Numbers that are
 * not {@link isStorableNumber} become text, and the key `__proto__` is removed.
 */
export function toStorableJson(value: unknown): { value: unknown; changed: boolean } {
  let changed = false;
  const clean = (node: unknown, depth: number): unknown => {
    if (typeof node === 'string') {
      const result = toStorableText(node);
      changed ||= result.changed;
      return result.text;
    }
    if (typeof node === 'number' && !isStorableNumber(node)) {
      changed = true;
      return String(node);
    }
    if (typeof node !== 'object' || node === null) return node;
    if (depth >= 64) {
      changed = true;
      return null;
    }
    if (Array.isArray(node)) return node.map((item) => clean(item, depth + 1));
    // The rules for input refuse this key.
    const entries = Object.entries(node).filter(([key]) => key !== '__proto__');
    changed ||= Object.hasOwn(node, '__proto__');
    return Object.fromEntries(entries.map(([key, item]) => [clean(key, depth + 1) as string, clean(item, depth + 1)]));
  };
  const result = clean(value, 0);
  return { value: result, changed };
}

/** Cuts text to at most `maxBytes` of UTF-8 without splitting a character. */
export function truncateUtf8(text: string, maxBytes: number): { text: string; truncated: boolean } {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return { text, truncated: false };
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return { text: bytes.subarray(0, end).toString('utf8'), truncated: true };
}

/** Without slashes at its ends. A regular expression with `\/+$` takes a time that grows with the square of the text. */
export function withoutOuterSlashes(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && text[start] === '/') start += 1;
  while (end > start && text[end - 1] === '/') end -= 1;
  return text.slice(start, end);
}

/** Characters that change the order of a text, or that nobody sees. */
const HIDDEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\u007f-\u009f]|[^\P{Cc}\t\n\r]/gu;

/** For texts that a person approves: `\u202e` in place of the character. The console shows them in the same way. */
export const withoutHidden = (text: string): string =>
  text.replace(HIDDEN, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0');
    return code.length > 4 ? `\\u{${code}}` : `\\u${code}`;
  });
