/** Shows nothing, and ends a name, a reference, a tag and an entity. */
const ZERO_WIDTH = '\u200B';
/** They can show a text in another order than it has. */
const DIRECTION = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;
const CONTROL = /[^\P{Cc}\t\n\r]/gu;
/** All punctuation that has a meaning in Markdown. */
const SYNTAX = /[\\`*_{}[\]()#+\-.!|~<>&:/]/g;

const readable = (text: string): string => text.replace(CONTROL, '\uFFFD').replace(DIRECTION, '\uFFFD');

/**
 * Text of an agent, or of another stranger, as a quotation in the Markdown of GitHub or GitLab. It notifies nobody, loads no
 * image, contains no HTML (such as a comment that hides what follows), and no command of GitLab, which begins a line.
 */
export function quotation(text: string): string {
  const safe = readable(text.trim())
    .replace(/(?<![A-Za-z0-9])@/g, `@${ZERO_WIDTH}`)
    .replace(/<(?=[A-Za-z/!?])/g, `<${ZERO_WIDTH}`)
    // An entity can stand for any of the other characters.
    .replace(/&(?=#?\w+;)/g, `&${ZERO_WIDTH}`)
    .replace(/!(?=\[)/g, `!${ZERO_WIDTH}`);
  return safe
    .split(/\r\n|\r|\n/)
    .map((line) => `> ${line}`)
    .join('\n');
}

/** Text of a stranger within a line, without any formatting. */
export const plainLine = (text: string, max: number): string =>
  unformattedLine(text, max).replace(SYNTAX, '\\$&').replaceAll('@', `@${ZERO_WIDTH}`);

/** For fields that are no Markdown. */
export function unformattedLine(text: string, max: number): string {
  const line = readable(text).replace(/\s+/g, ' ').trim();
  return line.length > max ? `${line.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : line;
}
