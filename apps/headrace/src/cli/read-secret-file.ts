import { readFileSync } from 'node:fs';
import { CommandError } from './command.js';

const STANDARD_INPUT = 0;

/**
 * The text of a file, `-` for standard input: others on the machine can see arguments. One line end after it is dropped.
 * Null when no file is named.
 */
export function readSecretFile(path: string | undefined, option = '--secret-file'): string | null {
  if (path === undefined) return null;
  const bytes = readBytes(path === '-' ? STANDARD_INPUT : path, option);
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.replace(/\r?\n$/, '');
  } catch {
    throw new CommandError(`what ${option} names is not text in UTF-8.`);
  }
}

function readBytes(file: string | number, option: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`what ${option} names cannot be read (${code ?? 'unknown'}).`);
  }
}
