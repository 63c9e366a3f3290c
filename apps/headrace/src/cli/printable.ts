const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Text of somebody else's on one line of a terminal: nothing in it moves the cursor. */
export const printable = (text: string): string => text.replaceAll(UNPRINTABLE, '\uFFFD');

const MAX_OUTPUT_LINES = 20;

/** The first lines of a text, each behind the prefix. */
export function firstLines(prefix: string, text: string): string[] {
  const lines = text.split('\n');
  const rest = lines.length - MAX_OUTPUT_LINES;
  const shown = rest > 1 ? [...lines.slice(0, MAX_OUTPUT_LINES), `… ${rest} more lines`] : lines;
  return shown.map((line) => prefix + line);
}
