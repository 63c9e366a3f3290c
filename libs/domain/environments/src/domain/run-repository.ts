import type { EnvironmentConfig } from './environment.js';

/** The repository that a run names: the environment says which ones may be named, and with which credential. */
export interface RunRepository {
  /** HTTP or HTTPS, without user and password. */
  readonly url: string;
  readonly ref?: string;
}

/** In place of the name of a repository: any repository of the account or group. */
export const ANY_REPOSITORY = '*';

const isPattern = (url: string): boolean => url.endsWith(`/${ANY_REPOSITORY}`);

/**
 * The configuration for a run: the entry of the repository that it names, or else the longest pattern that contains it, has its name
 * and ref; other patterns are left out. Null: no entry allows the repository. `githubUrl`: where `github_repos` are.
 */
export function withRepository(
  config: EnvironmentConfig,
  named: RunRepository | undefined,
  githubUrl: string,
): EnvironmentConfig | null {
  const { github_repos: github = [], git_repos: git = [], ...rest } = config;
  const base = githubUrl.replace(/\/+$/, '');
  const entries = [
    ...github.map((entry) => ({ of: 'github' as const, entry, url: `${base}/${entry.owner}/${entry.repo}` })),
    ...git.map((entry) => ({ of: 'git' as const, entry, url: entry.url })),
  ];
  const chosen =
    named &&
    (entries.find(({ of, url }) => !isPattern(url) && pageOf(url, of) === pageOf(named.url, of)) ??
      entries
        .filter(({ of, url }) => isPattern(url) && isBelow(named.url, url, of))
        .sort((a, b) => b.url.length - a.url.length)[0]);
  if (named !== undefined && chosen === undefined) return null;
  const kept = entries.filter((one) => one === chosen || !isPattern(one.url));
  const ref = named?.ref === undefined ? {} : { ref: named.ref };
  const result: EnvironmentConfig = { ...rest, github_repos: [], git_repos: [] };
  for (const one of kept) {
    const isChosen = one === chosen && named !== undefined;
    if (one.of === 'github') {
      const repo = isChosen && one.entry.repo === ANY_REPOSITORY ? nameIn(named.url) : one.entry.repo;
      result.github_repos?.push({ ...one.entry, repo, ...(isChosen && ref) });
    } else {
      const url = isChosen && isPattern(one.url) ? named.url : one.entry.url;
      result.git_repos?.push({ ...one.entry, url, ...(isChosen && ref) });
    }
  }
  return result;
}

const cleaned = (url: string): string => url.replace(/\/+$/, '').replace(/\.git$/i, '');
const nameIn = (url: string): string => cleaned(url).slice(cleaned(url).lastIndexOf('/') + 1);

/** GitHub ignores the case of names; other servers may not. */
function pageOf(url: string, of: 'github' | 'git'): string {
  const page = cleaned(url);
  return of === 'github' ? page.toLowerCase() : page.replace(/^[a-z+]+:\/\/[^/]*/i, (host) => host.toLowerCase());
}

/** Groups may contain groups; accounts of GitHub contain repositories only. */
function isBelow(url: string, pattern: string, of: 'github' | 'git'): boolean {
  const base = `${pageOf(pattern.slice(0, -ANY_REPOSITORY.length), of)}/`;
  const page = pageOf(url, of);
  const names = page.startsWith(base) ? page.slice(base.length).split('/') : [''];
  return (of === 'git' || names.length === 1) && names.every((name) => /^(?!\.{1,2}$)[\w.-]+$/.test(name));
}
