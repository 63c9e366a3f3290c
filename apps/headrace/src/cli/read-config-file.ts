import { LineCounter, parseDocument } from 'yaml';
import { CommandError } from './command.js';
import { readSecretFile } from './read-secret-file.js';

/**
 * The object in a file of JSON or YAML, `-` for standard input. What is wrong is told by its place: the text may hold
 * secrets.
 */
export function readConfigFile(path: string): Record<string, unknown> {
  const text = readSecretFile(path, '--file') ?? '';
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { schema: 'core', prettyErrors: false, lineCounter, logLevel: 'silent' });
  const [fault] = document.errors;
  if (fault) {
    const { line, col } = lineCounter.linePos(fault.pos[0]);
    throw new CommandError(`what --file names is neither JSON nor YAML: line ${line}, column ${col}.`);
  }
  const value = toPlain(() => document.toJS({ maxAliasCount: 100 }) as unknown);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CommandError('what --file names must be an object: the configuration of an environment.');
  return { ...value };
}

/** Aliases that multiply, or lead nowhere, are found here. */
function toPlain(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    throw new CommandError('what --file names has aliases that cannot be followed.');
  }
}
