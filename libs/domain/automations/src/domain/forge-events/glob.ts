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
  if (text.length > MAX_TEXT) return false;
  // The positions in the text that the tokens so far can end at.
  let ends: ReadonlySet<number> = new Set([0]);
  for (const token of pattern.match(TOKEN) ?? []) {
    ends = new Set(endsAfter(token, text, ends));
    if (ends.size === 0) return false;
  }
  return ends.has(text.length);
}

function* endsAfter(token: string, text: string, starts: ReadonlySet<number>): Generator<number> {
  if (!token.startsWith('*')) {
    for (const start of starts)
      if (token === '?' ? start < text.length && text[start] !== '/' : text.startsWith(token, start))
        yield start + token.length;
    return;
  }
  if (token === '**/') yield* starts;
  let isInside = false;
  let first = text.length;
  for (const start of starts) first = Math.min(first, start);
  for (let at = first; at <= text.length; at += 1) {
    if (token === '*' && at > 0 && text[at - 1] === '/') isInside = false;
    // After the directories that `**/` stands for.
    if (token === '**/' && isInside && text[at - 1] === '/') yield at;
    isInside ||= starts.has(at);
    if (token !== '**/' && isInside) yield at;
  }
}
