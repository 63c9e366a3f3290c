const TOKEN = /(?<![^/])\*\*\/|\*+|\?|[^*?]+/gu;
/** In one pattern. */
export const MAX_WILDCARDS = 10;
/** In all patterns of a list: a push can have 10,000 paths. */
export const MAX_ALL_WILDCARDS = 100;
/** Characters. Git and the forges allow no longer name. */
const MAX_TEXT = 4_096;

export const wildcardsIn = (pattern: string): number => pattern.match(/\*+|\?/g)?.length ?? 0;

/**
 * Whether a text matches a pattern: `*` is any text without `/`, `**` any text, `?` one character that is not `/`; a directory
 * `**` may be missing. A text of more than 4,096 characters matches nothing. The time is proportional to the length of the
 * text and to the number of wildcards: regular expressions, which libraries make of such patterns, can need exponential time
 * for a text from outside.
 */
export function matchesGlob(text: string, pattern: string): boolean {
  const { length } = text;
  if (length > MAX_TEXT) return false;
  // 1 at the positions in the text that the tokens so far can end at.
  let starts = new Uint8Array(length + 1);
  starts[0] = 1;
  for (const token of pattern.match(TOKEN) ?? []) {
    const ends = new Uint8Array(length + 1);
    if (!token.startsWith('*')) markFixed(token, text, starts, ends);
    else if (token === '**/') markDirectories(text, starts, ends);
    else markAny(text, starts, ends, token === '*');
    starts = ends;
  }
  return starts[length] === 1;
}

function markFixed(token: string, text: string, starts: Uint8Array, ends: Uint8Array): void {
  for (let at = 0; at + token.length <= text.length; at += 1)
    if (starts[at] === 1 && (token === '?' ? text[at] !== '/' : text.startsWith(token, at)))
      ends[at + token.length] = 1;
}

function markAny(text: string, starts: Uint8Array, ends: Uint8Array, isInDirectory: boolean): void {
  let isInside = false;
  for (let at = 0; at <= text.length; at += 1) {
    if (isInDirectory && at > 0 && text[at - 1] === '/') isInside = false;
    if (starts[at] === 1) isInside = true;
    if (isInside) ends[at] = 1;
  }
}

/** Any directories, each with its `/`, or none. */
function markDirectories(text: string, starts: Uint8Array, ends: Uint8Array): void {
  let isInside = false;
  for (let at = 0; at <= text.length; at += 1) {
    if (starts[at] === 1 || (isInside && text[at - 1] === '/')) ends[at] = 1;
    if (starts[at] === 1) isInside = true;
  }
}
