import { parseUrl } from '#platform/kernel';
/** Where services show a branch, by a part of their host name. */
const BRANCH_PATHS: readonly (readonly [host: string, path: string])[] = [
  ['gitlab', '-/tree/'],
  ['bitbucket', 'branch/'],
  ['gitea', 'src/branch/'],
  ['forgejo', 'src/branch/'],
  ['codeberg', 'src/branch/'],
];
const DEFAULT_PATH = 'tree/';
const SCP = /^[^@/]+@([^:/]+):(.+)$/;

/** The page of a repository; null: its URL has none, such as a path. Without a slash at its end, and without credentials. */
export function pageOfRepository(url: string): string | null {
  const [, scpHost, scpPath] = SCP.exec(url) ?? [];
  const text = scpHost === undefined ? url : `ssh://${scpHost}/${scpPath ?? ''}`;
  const parsed = /^(?:https?|ssh|git):/i.test(text) ? parseUrl(text) : null;
  if (parsed === null) return null;
  const { protocol, host, hostname, pathname } = parsed;
  const isHttp = protocol === 'http:' || protocol === 'https:';
  const path = pathname.replace(/\/+$/, '').replace(/\.git$/, '');
  // The port is that of another protocol.
  return isHttp ? `${protocol}//${host}${path}` : `https://${hostname}${path}`;
}

export function pageOfBranch(repositoryPage: string, branch: string): string {
  const { hostname } = new URL(repositoryPage);
  const path = BRANCH_PATHS.find(([part]) => hostname.includes(part))?.[1] ?? DEFAULT_PATH;
  return `${repositoryPage}/${path}${branch.split('/').map(encodeURIComponent).join('/')}`;
}
