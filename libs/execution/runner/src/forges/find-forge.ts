import type { ForgeRef } from '#execution/runner-protocol';
import { pageOfRepository } from '#platform/git';
import type { ForgeRepository } from './forge.js';
import { Github } from './github.js';
import { Gitlab } from './gitlab.js';

/** Null: the repository is on none of the forges. */
export function findForgeRepository(forges: readonly ForgeRef[], url: string, token: string): ForgeRepository | null {
  for (const forge of forges) {
    const name = nameOnForge(forge, url);
    if (name === null) continue;
    if (forge.type === 'gitlab') return new Gitlab(forge.api_url, name, token);
    const [owner = '', repository = ''] = name.split('/');
    return new Github(forge.api_url, owner, repository, token);
  }
  return null;
}

/** `owner/name`, or the path of a project with all groups; null: the repository is not on this forge. */
export function nameOnForge({ type, url: base }: ForgeRef, url: string): string | null {
  const page = pageOfRepository(url);
  if (page?.startsWith(`${base}/`) !== true) return null;
  const name = page.slice(base.length + 1);
  const isName = type === 'gitlab' || /^[^/]+\/[^/]+$/.test(name);
  return isName ? name : null;
}
