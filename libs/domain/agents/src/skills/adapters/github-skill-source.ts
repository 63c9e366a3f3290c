import { GithubApi, GithubRefusal, type GithubTree } from './github-api.js';
import {
  REPOSITORY_NOT_FOUND,
  SECRET_NOT_FOUND,
  type SkillRepository,
  SkillSource,
  type SourceFile,
  type SourceReading,
  unreadable,
} from '../application/skill-sources.js';
import {
  MAX_SKILL_BYTES,
  type PickedFile,
  pickSkillFiles,
  SKILL_DIRECTORIES,
  type TreeFile,
} from '../domain/skill-files.js';

const READ_AT_ONCE = 8;
/** What the API answers for the tree of a repository without commits. */
const EMPTY_REPOSITORY = 409;

interface GithubSkillOptions {
  readonly origin: string;
  /** For repositories whose environment names no secret; private ones are not read by it. */
  readonly token?: string;
}

export class GithubSkillSource extends SkillSource {
  override readonly id = 'github_api';

  constructor(private readonly options: GithubSkillOptions) {
    super();
  }

  override reads({ isGithub }: SkillRepository): boolean {
    return isGithub;
  }

  override async read(
    { owner, name, ref, credential }: SkillRepository,
    known: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<SourceReading> {
    const opened = credential && (await credential.open());
    if (opened === null) return SECRET_NOT_FOUND;
    if (opened && 'kind' in opened) return opened;
    const api = new GithubApi(this.options.origin, opened?.password ?? this.options.token, signal);
    const place = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
    try {
      const repository = await api.repository(place);
      // Our own token may see more than the caller: what it sees is for everybody.
      if (repository.private && !opened) throw new GithubRefusal(REPOSITORY_NOT_FOUND, false);
      const files = pickSkillFiles(await listFiles(api, place, ref ?? repository.default_branch));
      return { kind: 'read', files: await readFiles(api, place, files, known) };
    } catch (error) {
      if (!(error instanceof GithubRefusal)) throw error;
      if (error.status === EMPTY_REPOSITORY) return { kind: 'read', files: [] };
      return unreadable(error.detail, error.retryable);
    }
  }
}

async function listFiles(api: GithubApi, place: string, name: string): Promise<TreeFile[]> {
  const whole = await api.tree(place, name, true);
  if (whole.truncated !== true) return toFiles(whole, '');
  // Too large for one answer: the directories of skills, one by one.
  const root = await api.tree(place, name, false);
  const found: TreeFile[] = [];
  for (const directory of SKILL_DIRECTORIES) {
    const top = treeNamed(root, directory);
    const skills = top && treeNamed(await api.tree(place, top, false), 'skills');
    if (skills) found.push(...toFiles(await api.tree(place, skills, true), `${directory}/skills/`));
  }
  return found;
}

function treeNamed({ tree }: GithubTree, path: string): string | undefined {
  return tree.find((entry) => entry.type === 'tree' && entry.path === path)?.sha;
}

function toFiles({ tree }: GithubTree, prefix: string): TreeFile[] {
  return tree.flatMap(({ type, mode, sha, size, path }) =>
    type === 'blob' && size !== undefined ? [{ mode, oid: sha, size, path: prefix + path }] : [],
  );
}

async function readFiles(
  api: GithubApi,
  place: string,
  files: readonly PickedFile[],
  known: ReadonlySet<string>,
): Promise<SourceFile[]> {
  const contents = new Map<string, Buffer>();
  const wanted = files.filter(({ oid, fault }) => fault === undefined && !known.has(oid)).map(({ oid }) => oid);
  const queue = [...new Set(wanted)];
  const work = async (): Promise<void> => {
    for (let oid = queue.pop(); oid !== undefined; oid = queue.pop())
      contents.set(oid, await api.blob(place, oid, MAX_SKILL_BYTES));
  };
  try {
    await Promise.all(Array.from({ length: READ_AT_ONCE }, work));
  } finally {
    // After a failure no worker continues.
    queue.length = 0;
  }
  return files.map((file) => ({ ...file, content: contents.get(file.oid) ?? null }));
}
