import { join, relative, resolve, sep } from 'node:path';
import type { Workspace } from '../workspace/workspace.js';
import {
  ARTIFACT_LIST,
  type ArtifactProblem,
  type ListedFile,
  type ListedReference,
  mimeTypeOf,
  parseArtifactList,
  typeOfDropped,
} from './artifact-list.js';
import { listOwnDirectory, NOT_FOUND, openOwnFile, UnreadableFile } from './own-file.js';

const MAX_LIST_BYTES = 1_048_576;
const MAX_ENTRIES = 2000;
const MAX_DEPTH = 8;

export interface FoundFile extends ListedFile {
  readonly path: string;
  /** As people see it: relative to the artifacts directory, else to the working directory. */
  readonly filepath: string;
  readonly mime_type: string;
}

export interface FoundArtifacts {
  readonly files: readonly FoundFile[];
  readonly references: readonly ListedReference[];
  readonly problems: readonly ArtifactProblem[];
}

/** The current artifacts: the entries of the list, and every file in the directory that the list does not name. */
export async function findArtifacts(workspace: Workspace): Promise<FoundArtifacts> {
  const list = await readList(workspace);
  const listed = list.files.map((entry): FoundFile => {
    const path = resolve(workspace.work, entry.path);
    return { ...entry, path, filepath: shownPath(workspace, path), mime_type: entry.mime_type ?? mimeOf(entry) };
  });
  const named = new Set(listed.map(({ path }) => path));
  const dropped = await walk(workspace.artifacts, workspace.root);
  return {
    files: [
      ...listed,
      ...dropped.paths
        .filter((path) => !named.has(path) && path !== join(workspace.artifacts, ARTIFACT_LIST))
        .map((path): FoundFile => {
          const type = typeOfDropped(path);
          return {
            artifact_type: type,
            path,
            filepath: shownPath(workspace, path),
            mime_type: mimeOf({ artifact_type: type, path }),
          };
        }),
    ],
    references: list.references,
    problems: [...list.problems, ...dropped.problems],
  };
}

const mimeOf = ({ artifact_type: type, path }: Pick<ListedFile, 'artifact_type' | 'path'>): string =>
  type === 'PLAN' ? 'text/markdown' : mimeTypeOf(path);

function shownPath({ artifacts, work, root }: Workspace, path: string): string {
  const base = [artifacts, work, root].find((directory) => path.startsWith(directory + sep));
  return base === undefined ? path : relative(base, path);
}

async function readList(workspace: Workspace): Promise<ReturnType<typeof parseArtifactList>> {
  const problem = (text: string) => ({
    files: [],
    references: [],
    problems: [{ artifact: ARTIFACT_LIST, problem: text }],
  });
  try {
    const { file, sizeBytes } = await openOwnFile(
      join(workspace.artifacts, ARTIFACT_LIST),
      workspace.root,
      workspace.runAs,
    );
    try {
      if (sizeBytes > MAX_LIST_BYTES) return problem(`is larger than ${MAX_LIST_BYTES} bytes`);
      const bytes = Buffer.alloc(sizeBytes);
      const { bytesRead } = await file.read(bytes, 0, sizeBytes, 0);
      return parseArtifactList(bytes.toString('utf8', 0, bytesRead));
    } finally {
      await file.close();
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return error.message === NOT_FOUND ? { files: [], references: [], problems: [] } : problem(error.message);
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
