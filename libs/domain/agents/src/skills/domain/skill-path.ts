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

/** Whether it is a path of a SKILL.md within a repository, anywhere in it. */
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
