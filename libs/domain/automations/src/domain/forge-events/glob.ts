const TOKEN = /(?<![^/])\*\*\/|\*+|\?|[^*?]+/gu;
export const MAX_WILDCARDS = 20;

export const wildcardsIn = (pattern: string): number => pattern.match(/\*+|\?/g)?.length ?? 0;

/**
 * Whether a text matches a pattern: `*` is any text without `/`, `**` any text, `?` one character that is not `/`; a directory
 * `**` may be missing. The time is proportional to the length of the text and to the number of wildcards: regular
 * expressions, which libraries make of such patterns, can need exponential time for a text from outside.
 */
export function matchesGlob(text: string, pattern: string): boolean {
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
  for (let at = Math.min(...starts); at <= text.length; at += 1) {
    if (token === '*' && at > 0 && text[at - 1] === '/') isInside = false;
    // After the directories that `**/` stands for.
    if (token === '**/' && isInside && text[at - 1] === '/') yield at;
    isInside ||= starts.has(at);
    if (token !== '**/' && isInside) yield at;
  }
}
