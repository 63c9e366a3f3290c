/** The URL of a repository of GitHub: `githubUrl` is https://github.com or a replacement, which can be a local directory. */
export function repositoryUrl(
  { githubUrl }: { readonly githubUrl: string },
  { owner, repo }: { readonly owner: string; readonly repo: string },
): string {
  return `${githubUrl.replace(/\/+$/, '')}/${owner}/${repo}.git`;
}

/** The name of the directory that `git clone` would make. */
export function directoryName(url: string): string {
  const last = url
    .replace(/\/+$/, '')
    .replace(/\/?\.git$/, '')
    .split(/[/:]/)
    .at(-1);
  const name = (last ?? '')
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 100);
  return name === '' || name === '.git' ? 'repository' : name;
}

/** A separate directory for each, in order; the second of a name gets a number. */
export function directoryNames(urls: readonly string[]): string[] {
  const taken = new Set<string>();
  return urls.map((url) => {
    const name = directoryName(url);
    let free = name;
    for (let number = 2; taken.has(free.toLowerCase()); number += 1) free = `${name}-${number}`;
    taken.add(free.toLowerCase());
    return free;
  });
}
