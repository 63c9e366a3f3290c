import { type Dirent, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { CommandError } from '../cli/command.js';
import { printable } from '../cli/printable.js';

/** A file of a definition; `path` relative to its root, with `/`. */
export interface DefinitionFile {
  readonly path: string;
  readonly content: string;
}

/** More is no definition, but somebody's home directory. The precise limits are the API's. */
const MAX_FILES = 1000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_DEPTH = 16;

/**
 * The files of a definition, in the order of their paths. Names that begin with a dot are left out. Links lead to files
 * within the directory, or the whole is refused.
 */
export function readDirectory(directory: string): DefinitionFile[] {
  const root = realRoot(directory);
  const files: DefinitionFile[] = [];
  let bytes = 0;
  const walk = (current: string, depth: number): void => {
    const name = printable(shown(root, current));
    if (depth > MAX_DEPTH) throw new CommandError(`${name} lies too deep for a definition.`);
    for (const entry of readable(name === '' ? directory : name, () => entriesOf(current))) {
      const path = join(current, entry.name);
      if (entry.isDirectory()) {
        walk(path, depth + 1);
        continue;
      }
      const content = readText(root, path, entry);
      bytes += Buffer.byteLength(content);
      files.push({ path: shown(root, path), content });
      if (files.length > MAX_FILES || bytes > MAX_BYTES)
        throw new CommandError(`${directory} has too many files, or too large ones, for a definition.`);
    }
  };
  walk(root, 0);
  return files;
}

function entriesOf(directory: string): Dirent[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.'))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

function readText(root: string, path: string, entry: Dirent): string {
  const name = printable(shown(root, path));
  const target = entry.isSymbolicLink() ? linkTarget(root, path, name) : path;
  const stats = readable(name, () => statSync(target));
  if (!stats.isFile()) throw new CommandError(`${name} is neither a file nor a directory.`);
  if (stats.size > MAX_BYTES) throw new CommandError(`${name} is too large for a definition.`);
  const text = decoded(readable(name, () => readFileSync(target)));
  if (text === null || text.includes('\0')) throw new CommandError(`${name} is not text in UTF-8.`);
  return text;
}

/** With its byte order mark, if it has one; null for what is no UTF-8. */
function decoded(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** What `read` gives. Whatever the disk has against it is told of `name`. */
function readable<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new CommandError(`${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`);
  }
}

function linkTarget(root: string, path: string, name: string): string {
  let target: string;
  try {
    target = realpathSync(path);
  } catch {
    throw new CommandError(`${name} is a link to nothing.`);
  }
  if (!target.startsWith(`${root}${sep}`)) throw new CommandError(`${name} is a link that leaves the directory.`);
  if (statSync(target).isDirectory()) throw new CommandError(`${name} is a link to a directory.`);
  return target;
}

function realRoot(directory: string): string {
  const root = readable(directory, () => realpathSync(directory));
  if (readable(directory, () => statSync(root)).isDirectory()) return root;
  throw new CommandError(`${directory} is not a directory.`);
}

const shown = (root: string, path: string): string => relative(root, path).split(sep).join('/');
