export type FrontMatter =
  | {
      readonly kind: 'found';
      /** Where its YAML begins and ends. */
      readonly start: number;
      readonly end: number;
      /** Where what follows the closing fence begins. */
      readonly body: number;
    }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unclosed' };

/** The YAML between two lines of `---` at the very beginning of a text. */
export function findFrontMatter(text: string): FrontMatter {
  const start = fenceEnd(text, 0);
  if (start === undefined) return { kind: 'missing' };
  for (let line = start; line < text.length; line = nextLine(text, line)) {
    const body = fenceEnd(text, line);
    if (body !== undefined) return { kind: 'found', start, end: line, body };
  }
  return { kind: 'unclosed' };
}

/** Of the line that begins at `line`, if it is a fence: where the next one begins. */
function fenceEnd(text: string, line: number): number | undefined {
  if (!text.startsWith('---', line)) return undefined;
  const next = nextLine(text, line);
  return /^[ \t]*\r?\n?$/.test(text.slice(line + 3, next)) ? next : undefined;
}

function nextLine(text: string, line: number): number {
  const end = text.indexOf('\n', line);
  return end === -1 ? text.length : end + 1;
}

/**
 * The prompt in what follows the front matter: all of it, but for one empty line before and one line break at the end,
 * with which people and editors set it apart.
 */
export function promptOf(body: string): string {
  return body.replace(/^\r?\n/, '').replace(/\r?\n$/, '');
}

/** What gives the prompt back when {@link promptOf} reads it. */
export function bodyOf(prompt: string): string {
  if (prompt === '') return '';
  return `\n${prompt}${prompt.endsWith('\r') ? '\r\n' : '\n'}`;
}
