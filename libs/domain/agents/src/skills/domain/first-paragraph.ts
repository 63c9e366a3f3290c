import { MAX_FALLBACK_DESCRIPTION } from './skill-limits.js';

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6}(?:\s|$)/;
const UNDERLINE = /^ {0,3}(?:=+|-+)\s*$/;

/** The first paragraph of a Markdown text on one line, at most 512 characters; of one with headings only, the first. */
export function firstParagraph(body: string): string {
  const lines = body.split('\n');
  let heading = '';
  let paragraph: string[] = [];
  let fence: string | undefined;
  for (const line of lines) {
    const [, mark] = FENCE.exec(line) ?? [];
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined;
      continue;
    }
    if (paragraph.length > 0 && UNDERLINE.test(line)) {
      heading ||= oneLine(paragraph);
      paragraph = [];
      continue;
    }
    const ends = line.trim() === '' || mark !== undefined || HEADING.test(line);
    if (ends && paragraph.length > 0) break;
    if (mark !== undefined) fence = mark;
    else if (HEADING.test(line))
      heading ||= line
        .replace(/^ {0,3}#+/, '')
        .replace(/\s#+\s*$/, '')
        .trim();
    else if (!ends) paragraph.push(line);
  }
  return shorten(oneLine(paragraph) || oneLine([heading]), MAX_FALLBACK_DESCRIPTION);
}

/** At most `length` UTF-16 units, never half a character. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

function oneLine(lines: readonly string[]): string {
  return lines.join(' ').replace(/\s+/g, ' ').trim();
}
