import { type Dirent, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { CommandError } from '../cli/command.js';

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
    if (depth > MAX_DEPTH) throw new CommandError(`${shown(root, current)} lies too deep for a definition.`);
    for (const entry of entriesOf(current)) {
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
  const name = shown(root, path);
  const target = entry.isSymbolicLink() ? linkTarget(root, path, name) : path;
  const stats = statSync(target);
  if (!stats.isFile()) throw new CommandError(`${name} is neither a file nor a directory.`);
  if (stats.size > MAX_BYTES) throw new CommandError(`${name} is too large for a definition.`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(target));
  } catch (error) {
    if (error instanceof TypeError) throw new CommandError(`${name} is not text in UTF-8.`);
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
  try {
    const root = realpathSync(directory);
    if (statSync(root).isDirectory()) return root;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`${directory} cannot be read (${code ?? 'unknown'}).`);
  }
  throw new CommandError(`${directory} is not a directory.`);
}

const shown = (root: string, path: string): string => relative(root, path).split(sep).join('/');
