export type FrontMatter =
  | {
      readonly kind: 'found';
      readonly start: number;
      readonly end: number;
      /** Where the text after the closing fence begins. */
      readonly body: number;
    }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unclosed' };

/** Finds the YAML between two lines of `---` at the beginning of a text. */
export function findFrontMatter(text: string): FrontMatter {
  const start = fenceEnd(text, 0);
  if (start === undefined) return { kind: 'missing' };
  for (let line = start; line < text.length; line = nextLine(text, line)) {
    const body = fenceEnd(text, line);
    if (body !== undefined) return { kind: 'found', start, end: line, body };
  }
  return { kind: 'unclosed' };
}

/** Where the next line begins, if the line that begins at `line` is a fence. */
function fenceEnd(text: string, line: number): number | undefined {
  if (!text.startsWith('---', line)) return undefined;
  const next = nextLine(text, line);
  return /^[ \t]*\r?\n?$/.test(text.slice(line + 3, next)) ? next : undefined;
}

function nextLine(text: string, line: number): number {
  const end = text.indexOf('\n', line);
  return end === -1 ? text.length : end + 1;
}
