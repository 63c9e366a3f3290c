/** Where services show a branch, by a part of their host name. */
const BRANCH_PATHS: readonly (readonly [host: string, path: string])[] = [
  ['gitlab', '-/tree/'],
  ['bitbucket', 'branch/'],
  ['gitea', 'src/branch/'],
  ['forgejo', 'src/branch/'],
  ['codeberg', 'src/branch/'],
];
const DEFAULT_PATH = 'tree/';

export function pageOfBranch(repositoryPage: string, branch: string): string {
  const { hostname } = new URL(repositoryPage);
  const path = BRANCH_PATHS.find(([part]) => hostname.includes(part))?.[1] ?? DEFAULT_PATH;
  return `${repositoryPage}/${path}${branch.split('/').map(encodeURIComponent).join('/')}`;
}
