import { firstParagraph, shorten } from './first-paragraph.js';
import { type FrontMatter, readFrontMatter } from './front-matter.js';
import { MAX_DESCRIPTION } from './skill-limits.js';

/** What a SKILL.md says, wherever it lies. `error` is a sentence or more. */
export type ParsedSkill =
  | {
      readonly kind: 'skill';
      /** null: that of its directory. */
      readonly name: string | null;
      readonly description: string;
      /** Without front matter, trimmed; lines end with `\n`. */
      readonly body: string;
    }
  | { readonly kind: 'malformed'; readonly error: string };

/** Pure; takes whatever bytes there are, at most `MAX_SKILL_BYTES` of them. */
export function parseSkill(content: Uint8Array): ParsedSkill {
  const text = decode(content);
  if (text === null) return { kind: 'malformed', error: 'The file is not UTF-8 text.' };
  const split = splitFrontMatter(text);
  if (split === null) return { kind: 'malformed', error: 'The front matter has no closing line `---`.' };
  const read: FrontMatter = split.front === null ? { kind: 'read' } : readFrontMatter(split.front);
  if (read.kind === 'faulty') return { kind: 'malformed', error: read.error };
  const body = split.body.trim();
  const description = shorten(read.description ?? firstParagraph(body), MAX_DESCRIPTION);
  return { kind: 'skill', name: read.name ?? null, description, body };
}

/** Without a byte order mark; null: not UTF-8, or with NUL, which no text column holds. */
function decode(content: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(content);
    return text.includes('\0') ? null : text.replace(/\r\n?/g, '\n');
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

/** `front` is null where there is none; the result is null where it has no end. */
function splitFrontMatter(text: string): { front: string | null; body: string } | null {
  const [first = '', ...rest] = text.split('\n');
  if (first.trimEnd() !== '---') return { front: null, body: text };
  const end = rest.findIndex((line) => line.trimEnd() === '---');
  if (end === -1) return null;
  return { front: rest.slice(0, end).join('\n'), body: rest.slice(end + 1).join('\n') };
}
