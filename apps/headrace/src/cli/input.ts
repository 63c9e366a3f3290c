import { readFileSync } from 'node:fs';
import { LineCounter, parseDocument } from 'yaml';
import { parseDuration } from '#platform/kernel';
import { CommandError, UsageError } from './command.js';

const STANDARD_INPUT = 0;

/**
 * The text of a file, `-` for standard input, without one line end after it; null when no file is named. Secrets come from
 * files because other users of the machine can see the arguments of a process.
 */
export function readSecretFile(path: string | undefined, option = '--secret-file'): string | null {
  if (path === undefined) return null;
  const bytes = readBytes(path === '-' ? STANDARD_INPUT : path, option);
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.replace(/\r?\n$/, '');
  } catch {
    throw new CommandError(`${option}: not valid UTF-8 text.`);
  }
}

function readBytes(file: string | number, option: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`${option}: cannot be read (${code ?? 'unknown'}).`);
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

/** The time of `--expires`: a duration after `now`, such as 30d, or a date of RFC 3339. */
export function parseExpiry(value: string, now: Date): Date {
  const duration = parseDuration(value);
  const at = duration === null ? (RFC3339.test(value) ? Date.parse(value) : NaN) : now.getTime() + duration;
  if (Number.isNaN(at))
    throw new UsageError('--expires must be a duration such as 30d or a date such as 2030-01-31T00:00:00Z');
  if (at > LATEST) throw new UsageError('--expires must not be later than the year 9999');
  return new Date(at);
}
