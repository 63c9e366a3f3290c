import type { ForgeRef } from '#execution/runner-protocol';
import { pageOfRepository } from '../artifacts/web-address.js';
import type { ForgeRepository } from './forge.js';
import { Github } from './github.js';
import { Gitlab } from './gitlab.js';

/** Null: the repository is on none of the forges. */
export function findForgeRepository(forges: readonly ForgeRef[], url: string, token: string): ForgeRepository | null {
  const page = pageOfRepository(url);
  if (page === null) return null;
  for (const forge of forges) {
    if (!page.startsWith(`${forge.url}/`)) continue;
    const path = page.slice(forge.url.length + 1);
    if (forge.type === 'gitlab') return new Gitlab(forge.api_url, path, token);
    const [owner, name, ...rest] = path.split('/');
    if (owner && name && rest.length === 0) return new Github(forge.api_url, owner, name, token);
  }
  return null;
}
