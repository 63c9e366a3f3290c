import { githubApi } from '#platform/git';
import type { ForgeRef } from '#execution/runner-protocol';

interface ForgeSettings {
  readonly githubUrl: string;
  readonly githubApiUrl: string | undefined;
  readonly gitlabUrl: string | undefined;
}

/** The forges whose APIs runners call with credentials of repositories. A directory in place of GitHub has none. */
export function forgesOf(settings: ForgeSettings): ForgeRef[] {
  const { githubUrl, gitlabUrl = 'https://gitlab.com' } = settings;
  const gitlab: ForgeRef = { type: 'gitlab', url: gitlabUrl, api_url: `${gitlabUrl}/api/v4` };
  if (!/^https?:/i.test(githubUrl)) return [gitlab];
  return [{ type: 'github', url: githubUrl, api_url: githubApi(settings) }, gitlab];
}
