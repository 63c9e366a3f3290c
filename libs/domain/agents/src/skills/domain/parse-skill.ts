import { findFrontMatter } from '#platform/kernel';
import { firstParagraph, shorten } from './first-paragraph.js';
import { readFrontMatter, type SkillFields } from './skill-front-matter.js';
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
  const found = findFrontMatter(text);
  if (found.kind === 'unclosed') return { kind: 'malformed', error: 'The front matter has no closing line `---`.' };
  const read: SkillFields =
    found.kind === 'missing'
      ? { kind: 'read' }
      : readFrontMatter(text.slice(found.start, found.end).replace(/\n$/, ''));
  if (read.kind === 'malformed') return read;
  const body = (found.kind === 'missing' ? text : text.slice(found.body)).trim();
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
