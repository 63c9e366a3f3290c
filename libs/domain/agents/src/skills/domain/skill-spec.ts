import { isRepositoryPath } from './skill-files.js';

/** Which skill within its repository: `paths` are tried first, then skills of that name. */
export interface SkillQuery {
  readonly paths: readonly string[];
  readonly name: string;
}

export type SkillSpec =
  /** `owner/repo:…` */
  | { readonly kind: 'repository'; readonly owner: string; readonly repo: string; readonly query: SkillQuery }
  /** `repo:…`: repositories of that name in environments. */
  | { readonly kind: 'repo_name'; readonly repo: string; readonly query: SkillQuery }
  /** `:…` or a name alone: any repository of the environments. */
  | { readonly kind: 'anywhere'; readonly query: SkillQuery }
  | { readonly kind: 'invalid' };

const MAX_SPEC_LENGTH = 1_024;
const OWNER = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_])?$/;
const REPO = /^[A-Za-z0-9._-]{1,100}$/;

/** `owner/repo`, or null. Nothing in it can leave a path or a URL. */
export function parseRepositoryName(text: string): { owner: string; repo: string } | null {
  const [owner = '', repo = '', ...rest] = text.split('/');
  if (rest.length > 0 || !OWNER.test(owner) || !isRepoName(repo) || owner.includes('..')) return null;
  return { owner, repo };
}

function isRepoName(repo: string): boolean {
  return REPO.test(repo) && repo !== '.' && repo !== '..' && !repo.endsWith('.git');
}

export function parseSkillSpec(spec: string): SkillSpec {
  if (spec.length > MAX_SPEC_LENGTH) return { kind: 'invalid' };
  const colon = spec.indexOf(':');
  const where = colon === -1 ? '' : spec.slice(0, colon);
  const query = parseQuery(spec.slice(colon + 1).trim());
  if (query === null) return { kind: 'invalid' };
  if (where === '') return { kind: 'anywhere', query };
  const repository = parseRepositoryName(where);
  if (repository) return { kind: 'repository', ...repository, query };
  return isRepoName(where) ? { kind: 'repo_name', repo: where, query } : { kind: 'invalid' };
}

/** A path may also name the skill's directory. */
function parseQuery(text: string): SkillQuery | null {
  if (text === '' || !text.isWellFormed()) return null;
  const path = text.replace(/^\.?\//, '').replace(/\/$/, '');
  const isPath = isRepositoryPath(path) && (text.includes('/') || path === 'SKILL.md');
  const paths = !isPath ? [] : path.endsWith('SKILL.md') ? [path] : [`${path}/SKILL.md`];
  return { paths, name: text };
}

const FREE = /[^A-Za-z0-9._-]+/g;

/** How skills of a repository outside GitHub are named: the last two segments of its URL or path. */
export function repositoryNameOf(url: string): { owner: string; name: string } {
  const path = url
    .replace(/^[a-z][a-z0-9+.-]*:\/\/(?:[^/@]*@)?/i, '')
    .replace(/\/+$/, '')
    .replace(/\/?\.git$/, '');
  const [name = '', owner = ''] = path
    .split(/[/:]/)
    .map((part) => part.replace(FREE, '-').slice(0, 100))
    .filter((part) => part !== '' && part !== '.' && part !== '..')
    .reverse();
  return { owner: owner || 'local', name: name || 'repository' };
}
