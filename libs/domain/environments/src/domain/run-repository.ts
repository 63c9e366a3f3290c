import type { EnvironmentConfig } from './environment.js';

/** The repository that a run names: the environment says which ones may be named, and with which credential. */
export interface RunRepository {
  /** HTTP or HTTPS, without user and password. */
  readonly url: string;
  readonly ref?: string;
}

/** In place of the name of a repository: any repository of the account or group. */
export const ANY_REPOSITORY = '*';

export const isPattern = (url: string): boolean => url.endsWith(`/${ANY_REPOSITORY}`);

/**
 * The configuration for a run: the entry of the repository that it names, or else the pattern that contains it, has its name and
 * ref; other patterns are left out. Null: no entry allows the repository. `githubUrl`: where `github_repos` are.
 */
export function withRepository(
  config: EnvironmentConfig,
  named: RunRepository | undefined,
  githubUrl: string,
): EnvironmentConfig | null {
  const { github_repos: github = [], git_repos: git = [], ...rest } = config;
  const [base, page] = [githubUrl.replace(/\/+$/, ''), named && pageOf(named.url)];
  const entries = [
    ...github.map((entry) => ({ of: 'github' as const, entry, url: `${base}/${entry.owner}/${entry.repo}` })),
    ...git.map((entry) => ({ of: 'git' as const, entry, url: entry.url })),
  ];
  const chosen =
    entries.find(({ url }) => !isPattern(url) && pageOf(url) === page) ??
    entries.find(({ of, url }) => isPattern(url) && page !== undefined && isBelow(page, url, of === 'git'));
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
const pageOf = (url: string): string => cleaned(url).toLowerCase();
const nameIn = (url: string): string => cleaned(url).slice(cleaned(url).lastIndexOf('/') + 1);

/** `hasGroups`: they may contain groups. */
function isBelow(page: string, pattern: string, hasGroups: boolean): boolean {
  const base = pattern.slice(0, -ANY_REPOSITORY.length).toLowerCase();
  const rest = page.startsWith(base) ? page.slice(base.length) : '';
  const names = rest.split('/');
  return (hasGroups || names.length === 1) && names.every((name) => /^(?!\.{1,2}$)[\w.-]+$/.test(name));
}
