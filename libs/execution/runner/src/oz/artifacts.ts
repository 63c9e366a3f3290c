import { appendFile, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ARTIFACT_LIST, type ListedFile, type ListedReference } from '../artifacts/artifact-list.js';
import { FileProblem, insidePath } from './files.js';
import type { WrittenPlan } from './instructions.js';

/**
 * Hands an artifact in, the way that every agent has: a line in the list of the directory that HEADRACE_ARTIFACTS_DIR
 * names. Rejects with FileProblem.
 */
export async function handIn(artifact: ListedFile | ListedReference | WrittenPlan, cwd: string): Promise<void> {
  const directory = process.env['HEADRACE_ARTIFACTS_DIR'];
  if (directory === undefined || directory === '')
    throw new FileProblem('nobody collects artifacts here: HEADRACE_ARTIFACTS_DIR is not set');
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
      return { artifact_type: 'PLAN', path, ...(title === undefined ? {} : { title }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
