import { join, relative, resolve, sep } from 'node:path';
import type { Workspace } from '../workspace/workspace.js';
import {
  ARTIFACT_LIST,
  type ArtifactProblem,
  type ArtifactList,
  type ListedFile,
  mimeTypeOf,
  parseArtifactList,
  typeOfDropped,
} from './artifact-list.js';
import { listOwnDirectory, NOT_FOUND, readOwnFile, UnreadableFile } from './own-file.js';

const MAX_LIST_BYTES = 1_048_576;
const MAX_ENTRIES = 2000;
const MAX_DEPTH = 8;

export interface FoundFile extends ListedFile {
  readonly path: string;
  /** As people see it: relative to the artifacts directory, else to the working directory. */
  readonly filepath: string;
  readonly mime_type: string;
}

type FoundArtifacts = Omit<ArtifactList, 'files'> & { readonly files: readonly FoundFile[] };

/** The current artifacts: the entries of the list, and every file in the directory that the list does not name. */
export async function findArtifacts(workspace: Workspace): Promise<FoundArtifacts> {
  const list = await readList(workspace);
  const listed = list.files.map((entry) => locateFile(workspace, entry));
  const named = new Set(listed.map(({ path }) => path));
  const dropped = await walk(workspace.artifacts, workspace.root);
  return {
    files: [
      ...listed,
      ...dropped.paths
        .filter((path) => !named.has(path) && path !== join(workspace.artifacts, ARTIFACT_LIST))
        .map((path): FoundFile => {
          const entry = { artifact_type: typeOfDropped(path), path };
          return { ...entry, filepath: shownPath(workspace, path), mime_type: mimeOf(entry) };
        }),
    ],
    references: list.references,
    problems: [...list.problems, ...dropped.problems],
  };
}

/** `path` of the entry: absolute, or relative to the working directory. */
export function locateFile(workspace: Workspace, entry: ListedFile): FoundFile {
  const path = resolve(workspace.work, entry.path);
  return { ...entry, path, filepath: shownPath(workspace, path), mime_type: entry.mime_type ?? mimeOf(entry) };
}

const mimeOf = ({ artifact_type: type, path }: Pick<ListedFile, 'artifact_type' | 'path'>): string =>
  type === 'PLAN' ? 'text/markdown' : mimeTypeOf(path);

function shownPath({ artifacts, work, root }: Workspace, path: string): string {
  const base = [artifacts, work, root].find((directory) => path.startsWith(directory + sep));
  return base === undefined ? path : relative(base, path);
}

async function readList({ artifacts, root, runAs }: Workspace): Promise<ArtifactList> {
  try {
    const { bytes } = await readOwnFile(join(artifacts, ARTIFACT_LIST), root, runAs, MAX_LIST_BYTES);
    return parseArtifactList(bytes.toString('utf8'));
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    const problems = error.message === NOT_FOUND ? [] : [{ artifact: ARTIFACT_LIST, problem: error.message }];
    return { files: [], references: [], problems };
  }
}

/** Links are listed, not followed; opening them reports a problem. */
async function walk(directory: string, root: string): Promise<{ paths: string[]; problems: ArtifactProblem[] }> {
  const paths: string[] = [];
  const problems: ArtifactProblem[] = [];
  const levels: { path: string; depth: number }[] = [{ path: directory, depth: 1 }];
  for (let next = levels.shift(); next !== undefined; next = levels.shift()) {
    const { path: parent, depth } = next;
    for (const entry of await listOwnDirectory(parent, root)) {
      const path = join(parent, entry.name);
      if (!entry.isDirectory()) paths.push(path);
      else if (depth < MAX_DEPTH) levels.push({ path, depth: depth + 1 });
      else problems.push({ artifact: relative(directory, path), problem: `directory nesting exceeds ${MAX_DEPTH}` });
      if (paths.length + levels.length >= MAX_ENTRIES) {
        problems.push({ artifact: 'the artifacts directory', problem: `holds more than ${MAX_ENTRIES} entries` });
        return { paths, problems };
      }
    }
  }
  return { paths: paths.sort(), problems };
}
