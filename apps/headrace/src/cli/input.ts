import { readFileSync } from 'node:fs';
import { LineCounter, parseDocument } from 'yaml';
import { parseDuration } from '#platform/kernel';
import { CommandError, type Option, parsed, UsageError } from './command.js';

const STANDARD_INPUT = 0;

/**
 * The text of a file, `-` for standard input, without one line end after it; null when no file is named. Secrets come from
 * files because other users of the machine can see the arguments of a process.
 */
export function readSecretFile(path: string | undefined, option = '--secret-file'): string | null {
  if (path === undefined) return null;
  const text = decodeText(readable(`${option}:`, () => readFileSync(path === '-' ? STANDARD_INPUT : path)));
  if (text === null) throw new CommandError(`${option}: not valid UTF-8 text.`);
  return text.replace(/\r?\n$/, '');
}

/** Adds `name` to errors of the file system. */
export function readable<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new CommandError(`${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`);
  }
}

/** Text with its byte order mark, or null when it is not valid UTF-8. */
export function decodeText(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The object in a JSON or YAML file, `-` for standard input. Messages never quote the text, which may contain secrets. */
export function readConfigFile(path: string): Record<string, unknown> {
  const text = readSecretFile(path, '--file') ?? '';
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { schema: 'core', prettyErrors: false, lineCounter, logLevel: 'silent' });
  const [syntaxError] = document.errors;
  if (syntaxError) {
    const { line, col } = lineCounter.linePos(syntaxError.pos[0]);
    throw new CommandError(`--file: not valid JSON or YAML: line ${line}, column ${col}.`);
  }
  const value = toPlain(() => document.toJS({ maxAliasCount: 100 }) as unknown);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CommandError('--file: must be an object.');
  return { ...value };
}

/** Rejects aliases that expand without limit or have no anchor. */
function toPlain(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    throw new CommandError('--file: aliases cannot be resolved.');
  }
}

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i;
/** Neither the API nor the database accepts years with more digits. */
const LATEST = Date.parse('9999-12-31T23:59:59Z');

/** When a secret expires: a duration from now, such as 30d, or a date of RFC 3339. */
export const expiryOption = (subject: string): Option<Date | undefined> =>
  parsed('duration|date', `When the ${subject} expires, such as 30d or 2030-01-31T00:00:00Z.`, (value, option) => {
    const duration = parseDuration(value);
    const at = duration === null ? (RFC3339.test(value) ? Date.parse(value) : NaN) : Date.now() + duration;
    if (Number.isNaN(at))
      throw new UsageError(`${option} must be a duration such as 30d or a date such as 2030-01-31T00:00:00Z`);
    if (at > LATEST) throw new UsageError(`${option} must not be later than the year 9999`);
    return new Date(at);
  });
