import { isMap, LineCounter, parseDocument, visit } from 'yaml';
import { findFrontMatter } from '#platform/kernel';
import { MAX_DESCRIPTION, MAX_FALLBACK_DESCRIPTION, MAX_FRONT_MATTER, MAX_NAME_LENGTH } from './skill-files.js';

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

/** Absent and blank fields are left out; texts are trimmed. `error` is a sentence or more. */
type SkillFields =
  | { readonly kind: 'read'; readonly name?: string; readonly description?: string }
  | { readonly kind: 'malformed'; readonly error: string };

const MAX_ERROR_LENGTH = 300;

class FrontMatterError extends Error {}

/** `name` and `description` of a YAML mapping; other keys are not looked at. */
function readFrontMatter(source: string): SkillFields {
  try {
    return { kind: 'read', ...read(source) };
  } catch (error) {
    if (error instanceof FrontMatterError) return { kind: 'malformed', error: error.message };
    // The parser recurses: text that only nests exhausts the stack, which it reports as a RangeError.
    if (error instanceof RangeError) return { kind: 'malformed', error: 'The front matter is nested too deeply.' };
    throw error;
  }
}

function read(source: string): { name?: string; description?: string } {
  if (source.length > MAX_FRONT_MATTER)
    throw new FrontMatterError(`The front matter has more than ${MAX_FRONT_MATTER} characters.`);
  const lineCounter = new LineCounter();
  const document = parseDocument(source, { schema: 'core', prettyErrors: false, lineCounter, logLevel: 'silent' });
  const [first] = document.errors;
  if (first) {
    // The first line of the file is the `---` above.
    const line = lineCounter.linePos(first.pos[0]).line + 1;
    throw new FrontMatterError(
      shorten(`The front matter is not valid YAML, line ${line}: ${first.message}`, MAX_ERROR_LENGTH),
    );
  }
  visit(document, {
    Alias: () => {
      throw new FrontMatterError('The front matter uses aliases, which are not allowed.');
    },
  });
  if (document.contents === null || (!isMap(document.contents) && document.toJS() === null)) return {};
  if (!isMap(document.contents)) throw new FrontMatterError('The front matter is not a mapping of keys to values.');
  const name = textOf('name', document.get('name'));
  const description = textOf('description', document.get('description'));
  if (name !== undefined) checkName(name);
  return { ...(name !== undefined && { name }), ...(description !== undefined && { description }) };
}

function textOf(key: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new FrontMatterError(`\`${key}\` is not a text.`);
  if (!value.isWellFormed() || value.includes('\0'))
    throw new FrontMatterError(`\`${key}\` has characters that are no text.`);
  const trimmed = value.trim();
  return trimmed === '' ? undefined : trimmed;
}

function checkName(name: string): void {
  if (name.length > MAX_NAME_LENGTH)
    throw new FrontMatterError(`\`name\` has more than ${MAX_NAME_LENGTH} characters.`);
  if (/[\p{Cc}\u2028\u2029]/u.test(name)) throw new FrontMatterError('`name` is not on one line.');
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6}(?:\s|$)/;
const UNDERLINE = /^ {0,3}(?:=+|-+)\s*$/;

/** The first paragraph of a Markdown text on one line, at most 512 characters; of one with headings only, the first. */
function firstParagraph(body: string): string {
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
