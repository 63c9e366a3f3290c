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
