import { isMap, LineCounter, parseDocument, visit } from 'yaml';
import { MAX_FRONT_MATTER, MAX_NAME_LENGTH } from './skill-limits.js';
import { shorten } from './first-paragraph.js';

/** Absent and blank fields are left out; texts are trimmed. `error` is a sentence or more. */
export type SkillFields =
  | { readonly kind: 'read'; readonly name?: string; readonly description?: string }
  | { readonly kind: 'malformed'; readonly error: string };

const MAX_ERROR_LENGTH = 300;

class FrontMatterError extends Error {}

/** `name` and `description` of a YAML mapping; other keys are not looked at. */
export function readFrontMatter(source: string): SkillFields {
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
