import { GitFailure, type GitRepository, type Mirror, type MirrorCache, type TreeEntry } from '#platform/git';
import {
  REF_NOT_FOUND,
  REPOSITORY_NOT_FOUND,
  SECRET_NOT_FOUND,
  type SkillRepository,
  SkillSource,
  type SourceReading,
  unreadable,
} from '../application/skill-sources.js';
import { MAX_SKILL_BYTES, pickSkillFiles, SKILL_DIRECTORIES, type TreeFile } from '../domain/skill-files.js';

/** Any repository that git can reach, by a bare mirror on disk: trees and files are read as git's objects. */
export class MirrorSkillSource extends SkillSource {
  override readonly id = 'mirror';

  constructor(private readonly mirrors: Pick<MirrorCache, 'mirror'>) {
    super();
  }

  override reads(): boolean {
    return true;
  }

  override async read(
    { url, ref, credential }: SkillRepository,
    known: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<SourceReading> {
    const opened = credential && (await credential.open());
    if (opened === null) return SECRET_NOT_FOUND;
    if (opened && 'kind' in opened) return opened;
    const repository = { url, ...(opened && { credential: opened }) };
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.readMirror(repository, ref, known, signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof GitFailure)) throw error;
        // A damaged copy is replaced at the next request.
        if (attempt === 2 || error.reason !== 'damaged') return toReading(error);
      }
    }
  }

  private async readMirror(
    repository: GitRepository,
    ref: string | undefined,
    known: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<SourceReading> {
    const mirror = await this.mirrors.mirror(repository, { signal, ...(ref !== undefined && { ref }) });
    const commit = await mirror.resolve(ref);
    if (commit === null) return { kind: 'read', files: [] };
    const files = pickSkillFiles((await list(mirror, commit, signal)).flatMap(toTreeFile));
    const contents = new Map<string, Buffer>();
    for (const { oid, fault } of files) {
      signal.throwIfAborted();
      if (fault === undefined && !known.has(oid) && !contents.has(oid))
        contents.set(oid, await mirror.read(oid, MAX_SKILL_BYTES));
    }
    return { kind: 'read', files: files.map((file) => ({ ...file, content: contents.get(file.oid) ?? null })) };
  }
}

async function list(mirror: Mirror, commit: string, signal: AbortSignal): Promise<TreeEntry[]> {
  try {
    return await mirror.list(commit, { signal });
  } catch (error) {
    if (!(error instanceof GitFailure) || error.reason !== 'too_large') throw error;
    return mirror.list(commit, { signal, below: SKILL_DIRECTORIES.map((directory) => `${directory}/skills`) });
  }
}

function toTreeFile({ type, size, ...entry }: TreeEntry): TreeFile[] {
  return type === 'blob' && size !== null ? [{ ...entry, size }] : [];
}

/** Git's own words stay out: they may name what callers must not learn, such as places of this machine. */
function toReading({ reason }: GitFailure): SourceReading {
  switch (reason) {
    case 'empty':
      return { kind: 'read', files: [] };
    case 'invalid':
    case 'not_allowed':
      return unreadable('Repositories of this place may not be read here.', false);
    case 'authentication':
    case 'not_found':
      return unreadable(REPOSITORY_NOT_FOUND, false);
    case 'ref_not_found':
      return unreadable(REF_NOT_FOUND, false);
    case 'too_large':
      return unreadable('The repository is too large.', false);
    case 'timeout':
    case 'aborted':
    case 'damaged':
    case 'unavailable':
    case 'failed':
      return unreadable('The repository cannot be reached now.', true);
  }
}
