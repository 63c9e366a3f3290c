import { parseUrl } from '#platform/kernel';

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

const PULL_REQUEST = /^\/(pulls?|(?:-\/)?merge_requests)\/(\d{1,15})\/?$/i;

/**
 * The ref of the head of a pull request (GitHub, Gitea) or merge request (GitLab) in its repository. Null: `page` is not the page of one
 * in this repository.
 */
export function pullRequestRef(repositoryUrl: string, page: string): string | null {
  const base = pageOfRepository(repositoryUrl);
  const isBelow = base !== null && page.toLowerCase().startsWith(`${base.toLowerCase()}/`);
  const [, kind, number] = (isBelow && PULL_REQUEST.exec(page.slice(base.length))) || [];
  if (kind === undefined || number === undefined) return null;
  return kind.toLowerCase().startsWith('pull') ? `refs/pull/${number}/head` : `refs/merge-requests/${number}/head`;
}
