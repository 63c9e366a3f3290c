import {
  type Dirent,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { CommandError } from '../cli/command.js';
import { decodeText, readable } from '../cli/input.js';
import { printable } from '../cli/output.js';

/** A file of a definition; `path` relative to its root, with `/`. */
export interface DefinitionFile {
  readonly path: string;
  readonly content: string;
}

/** A larger directory is no definition, for example a home directory. The API has the exact limits. */
const MAX_FILES = 1000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_DEPTH = 16;

/** Sorted by path, without hidden files. A link that does not lead to a file within the directory is an error. */
export function readDirectory(directory: string): DefinitionFile[] {
  const root = realRoot(directory);
  const files: DefinitionFile[] = [];
  let bytes = 0;
  const walk = (current: string, depth: number): void => {
    const name = printable(shown(root, current));
    if (depth > MAX_DEPTH) throw new CommandError(`${name}: directory nesting exceeds ${MAX_DEPTH}.`);
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
        throw new CommandError(`${directory} exceeds ${MAX_FILES} files or ${MAX_BYTES} bytes.`);
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
  if (stats.size > MAX_BYTES) throw new CommandError(`${name} exceeds ${MAX_BYTES} bytes.`);
  const text = decodeText(readable(name, () => readFileSync(target)));
  if (text === null || text.includes('\0')) throw new CommandError(`${name} is not valid UTF-8 text.`);
  return text;
}

function linkTarget(root: string, path: string, name: string): string {
  let target: string;
  try {
    target = realpathSync(path);
  } catch {
    throw new CommandError(`${name} is a dangling link.`);
  }
  if (!target.startsWith(`${root}${sep}`)) throw new CommandError(`${name} is a link out of the directory.`);
  if (statSync(target).isDirectory()) throw new CommandError(`${name} is a link to a directory.`);
  return target;
}

function realRoot(directory: string): string {
  const root = readable(directory, () => realpathSync(directory));
  if (readable(directory, () => statSync(root)).isDirectory()) return root;
  throw new CommandError(`${directory} is not a directory.`);
}

const shown = (root: string, path: string): string => relative(root, path).split(sep).join('/');

/** Paths of definitions. The API is checked too, because paths decide where files are written. */
const SAFE_PATH = /^(?!\.)[A-Za-z0-9._-]+(?:\/(?!\.)[A-Za-z0-9._-]+)*$/;

/** Writes the files of a definition and keeps other files. Without `isForced` the directory may contain only hidden files. */
export function writeDirectory(directory: string, files: readonly DefinitionFile[], isForced: boolean): void {
  const invalid = files.find(({ path }) => !SAFE_PATH.test(path));
  if (invalid) throw new CommandError(`the API sent a file with an invalid path: ${printable(invalid.path)}`);
  if (!isForced && visibleEntries(directory).length > 0)
    throw new CommandError(
      `${directory} is not empty; --force overwrites files with the same path and keeps the others.`,
    );
  try {
    mkdirSync(directory, { recursive: true });
    const root = realpathSync(directory);
    for (const { path, content } of files) writeFile(root, path, content);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const { code, path } = error as NodeJS.ErrnoException;
    throw new CommandError(`${path ?? directory} cannot be written (${code ?? 'unknown'}).`);
  }
}

/** Never writes through a link, which may lead out of the directory. */
function writeFile(root: string, path: string, content: string): void {
  const target = join(root, path);
  mkdirSync(dirname(target), { recursive: true });
  const parent = realpathSync(dirname(target));
  if (parent !== root && !parent.startsWith(`${root}${sep}`))
    throw new CommandError(`${dirname(path)} is a link out of the directory.`);
  if (lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new CommandError(`${path} is a link; links are not overwritten.`);
  writeFileSync(target, content);
}

function visibleEntries(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readable(directory, () => readdirSync(directory)).filter((name) => !name.startsWith('.'));
}
