import { lstat, mkdir, readdir, readFile, realpath, stat, writeFile, appendFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ARTIFACT_LIST, type ListedFile, type ListedReference } from '../artifacts/artifact-list.js';
import type { WrittenPlan } from './instructions.js';

/** A file instruction that cannot be executed; the message is the reason. */
export class FileProblem extends Error {}

const MAX_FILE_BYTES = 4 * 1_048_576;
const MAX_MATCHES = 200;

/** The absolute path, which must stay inside `cwd`, also when symbolic links are followed. */
export async function insidePath(cwd: string, path: string): Promise<string> {
  const target = resolve(cwd, path);
  const outside = (from: string, to: string): boolean => {
    const way = relative(from, to);
    return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way);
  };
  if (outside(cwd, target)) throw new FileProblem(`${path} is outside the working directory`);
  const root = await realpath(cwd);
  for (let existing = target; ; existing = dirname(existing)) {
    const isThere = await lstat(existing).then(
      () => true,
      () => false,
    );
    if (!isThere && existing !== dirname(existing)) continue;
    // Writing through a broken link would create its target.
    const real = await realpath(existing).catch(() => null);
    if (real === null || outside(root, real)) throw new FileProblem(`${path} leads outside the working directory`);
    return target;
  }
}

export async function readText(path: string): Promise<string | null> {
  const stats = await stat(path).catch(() => null);
  if (stats === null) return null;
  if (!stats.isFile()) throw new FileProblem(`${path} is not a file`);
  if (stats.size > MAX_FILE_BYTES) throw new FileProblem(`${path} is larger than ${MAX_FILE_BYTES} bytes`);
  return readFile(path, 'utf8');
}

export async function writeText(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** Lines that contain `pattern` literally, in files under `directory`, sorted by path; binary and hidden directories are left out. */
export async function searchFiles(
  cwd: string,
  directory: string,
  pattern: string,
  signal: AbortSignal,
): Promise<{ readonly path: string; readonly line: number; readonly text: string }[]> {
  const matches: Awaited<ReturnType<typeof searchFiles>> = [];
  for (const path of await filesUnder(directory)) {
    if (matches.length >= MAX_MATCHES || signal.aborted) break;
    const text = await readText(path).catch(() => null);
    if (text === null || text.includes('\0')) continue;
    for (const [index, line] of text.split('\n').entries()) {
      if (line.includes(pattern))
        matches.push({ path: relative(cwd, path), line: index + 1, text: line.slice(0, 300) });
    }
  }
  return matches.slice(0, MAX_MATCHES);
}

async function filesUnder(path: string): Promise<string[]> {
  const stats = await stat(path).catch(() => null);
  if (stats === null) throw new FileProblem(`${path} does not exist`);
  if (stats.isFile()) return [path];
  const found: string[] = [];
  for (const stack = [path]; stack.length > 0;) {
    const directory = stack.pop() ?? path;
    for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
      if (entry.isFile()) found.push(join(directory, entry.name));
      else if (entry.isDirectory() && !['.git', 'node_modules'].includes(entry.name))
        stack.push(join(directory, entry.name));
    }
  }
  return found.sort();
}

/** Adds a line to the list of artifacts, as every agent does. Rejects with FileProblem. */
export async function submit(artifact: ListedFile | ListedReference | WrittenPlan, cwd: string): Promise<void> {
  const directory = process.env['HEADRACE_ARTIFACTS_DIR'];
  if (directory === undefined || directory === '')
    throw new FileProblem('artifacts are not collected here: HEADRACE_ARTIFACTS_DIR is not set');
  await mkdir(directory, { recursive: true });
  const line = 'text' in artifact ? await writePlan(artifact, directory) : artifact;
  if ('path' in line && !('text' in artifact)) {
    const path = await insidePath(cwd, line.path);
    const found = await stat(path).catch(() => null);
    if (!found?.isFile()) throw new FileProblem(`${line.path} is not a file`);
  }
  await appendFile(join(directory, ARTIFACT_LIST), `${JSON.stringify(line)}\n`);
}

async function writePlan({ text, title }: WrittenPlan, directory: string): Promise<ListedFile> {
  for (let number = 1; ; number += 1) {
    const path = join(directory, `${number}.plan.md`);
    try {
      await writeFile(path, text, { flag: 'wx' });
      return { artifact_type: 'PLAN', path, title };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
