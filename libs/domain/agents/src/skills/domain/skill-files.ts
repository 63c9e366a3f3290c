/** Where repositories keep skills; of equal ones the earlier directory's counts. */
export const SKILL_DIRECTORIES = [
  '.agents',
  '.warp',
  '.claude',
  '.codex',
  '.cursor',
  '.gemini',
  '.copilot',
  '.factory',
  '.github',
  '.opencode',
] as const;

const MAX_PATH_LENGTH = 1_024;

export function isSkillFile(path: string): boolean {
  return (path === 'SKILL.md' || path.endsWith('/SKILL.md')) && isRepositoryPath(path);
}

/** The rank of the directory that lists this skill, 0 first; -1: found by its path only. */
export function directoryRank(path: string): number {
  const [directory, skills, name, file, ...rest] = path.split('/');
  const listed = skills === 'skills' && name !== undefined && file === 'SKILL.md' && rest.length === 0;
  return listed ? SKILL_DIRECTORIES.findIndex((known) => known === directory) : -1;
}

/** What a skill without a name is called: the directory that it lies in. */
export function directoryName(path: string): string {
  return path.split('/').at(-2) ?? 'SKILL';
}

/** A path as git stores it, that stays in its repository, and that can be shown on one line. */
export function isRepositoryPath(path: string): boolean {
  if (path === '' || path.length > MAX_PATH_LENGTH || !path.isWellFormed()) return false;
  if (/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(path)) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/** Listed ones first, by their directory's rank, then by path. */
export function bySkillPath(a: string, b: string): number {
  const [rankOfA, rankOfB] = [directoryRank(a), directoryRank(b)].map((rank) => (rank === -1 ? Infinity : rank));
  if (rankOfA !== rankOfB) return (rankOfA ?? 0) - (rankOfB ?? 0);
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A SKILL.md over this size is malformed, and never read. */
export const MAX_SKILL_BYTES = 262_144;
/** Its front matter, in UTF-16 units: what is written to be slow to parse takes some milliseconds then. */
export const MAX_FRONT_MATTER = 8_192;
/** SKILL.md files of one repository; further ones are left out. */
const MAX_SKILL_FILES = 5_000;
/** Of all SKILL.md files of one repository; those beyond count as malformed. */
const MAX_REPOSITORY_BYTES = 32 * 1_048_576;
export const MAX_NAME_LENGTH = 128;
/** Of a description that is the body's first paragraph. */
export const MAX_FALLBACK_DESCRIPTION = 512;
/** Of a description from front matter; a longer one is cut. */
export const MAX_DESCRIPTION = 2_048;

export interface TreeFile {
  /** `100644` and `100755` are files; links (`120000`) and submodules (`160000`) are never followed. */
  readonly mode: string;
  readonly oid: string;
  /** Bytes. */
  readonly size: number;
  readonly path: string;
}

export interface PickedFile extends TreeFile {
  /** Why it is not read, as a sentence. */
  readonly fault?: string;
}

/** The SKILL.md files of a tree, listed ones first, as many as one repository may have, and which of them are too large. */
export function pickSkillFiles(tree: Iterable<TreeFile>): PickedFile[] {
  const files: TreeFile[] = [];
  for (const file of tree) if (file.mode.startsWith('100') && isSkillFile(file.path)) files.push(file);
  files.sort((a, b) => bySkillPath(a.path, b.path));
  let bytes = 0;
  const counted = new Set<string>();
  return files.slice(0, MAX_SKILL_FILES).map((file) => {
    if (file.size > MAX_SKILL_BYTES)
      return { ...file, fault: `The file has ${file.size} bytes; at most ${MAX_SKILL_BYTES} are read.` };
    const more = counted.has(file.oid) ? 0 : file.size;
    if (bytes + more > MAX_REPOSITORY_BYTES)
      return { ...file, fault: `The skills of this repository have more than ${MAX_REPOSITORY_BYTES} bytes.` };
    bytes += more;
    counted.add(file.oid);
    return file;
  });
}
