import { lstatSync, mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { CommandError } from '../cli/command.js';
import type { DefinitionFile } from './read-directory.js';

/** Paths as definitions have them, whoever sent them. */
const SAFE_PATH = /^(?!\.)[A-Za-z0-9._-]+(?:\/(?!\.)[A-Za-z0-9._-]+)*$/;

/**
 * Writes the files of a definition; whatever else lies in the directory stays as it is. Unless it is forced, there must be
 * nothing but hidden entries.
 */
export function writeDirectory(directory: string, files: readonly DefinitionFile[], isForced: boolean): void {
  const strange = files.find(({ path }) => !SAFE_PATH.test(path));
  if (strange) throw new CommandError(`the API has sent a file with a path that no definition has: ${strange.path}`);
  if (!isForced && entriesOf(directory).length > 0)
    throw new CommandError(`${directory} is not empty; --force overwrites what has the same path and leaves the rest.`);
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

/** Never through a link: it may lead out of the directory. */
function writeFile(root: string, path: string, content: string): void {
  const target = join(root, path);
  mkdirSync(dirname(target), { recursive: true });
  const parent = realpathSync(dirname(target));
  if (parent !== root && !parent.startsWith(`${root}${sep}`))
    throw new CommandError(`${dirname(path)} is a link that leaves the directory.`);
  if (lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new CommandError(`${path} is a link: nothing is written through it.`);
  writeFileSync(target, content);
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => !name.startsWith('.'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return [];
    throw new CommandError(`${directory} cannot be read (${code ?? 'unknown'}).`);
  }
}
