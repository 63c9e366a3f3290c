import {
  addressRanges,
  boolean,
  directories,
  duration,
  integer,
  literal,
  optionalEmail,
  optionalSecret,
  publicOrigin,
  repositoryBase,
  settingGroup,
  text,
} from '../setting-kinds.js';

const MIB = 1_048_576;

export const REPOSITORY_SETTINGS = {
  ...settingGroup('Repositories', ['API', 'processor'], {
    githubUrl: repositoryBase('https://github.com').describe(
      'Base URL from which github_repos of environments are cloned, as GITHUB_URL/owner/repo.git: GitHub, GitHub Enterprise Server, or a directory below GIT_LOCAL_ROOTS.',
    ),
    githubApiUrl: publicOrigin().describe(
      'API of GitHub, for pull requests and for GITHUB_SKILLS_SOURCE=api. Default: https://api.github.com; GITHUB_URL/api/v3 for another GITHUB_URL.',
    ),
    gitlabUrl: publicOrigin().describe(
      'URL of the GitLab server on which agents create merge requests. Default: https://gitlab.com.',
    ),
    gitLocalRoots: directories().describe(
      'Directories, comma-separated, whose repositories environments may name by path or file:// URL. Everybody who manages an environment can read all of them. Default: none.',
    ),
    gitAllowPrivate: addressRanges().describe(
      'Addresses or CIDR ranges, comma-separated, from which the API and the processor may fetch repositories although they are not public. GITHUB_URL is always allowed.',
    ),
    gitCloneTimeout: duration('10min', '1s', '6h').describe('Maximum time to clone one repository.'),
    gitMaxRepositoryBytes: integer(5 * 1024 * MIB, MIB, Number.MAX_SAFE_INTEGER).describe(
      'Maximum size of the mirror of one repository below HEADRACE_DATA_DIR, in bytes.',
    ),
    gitMirrorsMaxBytes: integer(20 * 1024 * MIB, MIB, Number.MAX_SAFE_INTEGER).describe(
      'Maximum size of all mirrors of repositories together, in bytes. Above it, the least recently used mirrors that are not in use are deleted.',
    ),
    gitAuthorName: text('Headrace').describe(
      'Author of the commits of agents. Runs of an agent identity have its name instead.',
    ),
    gitAuthorEmail: optionalEmail().describe(
      'E-mail address of the author of commits. Default: noreply@ with the host of PUBLIC_URL.',
    ),
    gitCoAuthor: boolean(true).describe(
      'Whether commits have a line Co-authored-by with the name and e-mail address of the user who created the run.',
    ),
  }),
  ...settingGroup('Skills', ['API', 'processor'], {
    skillsCacheTtl: duration('5min', '0s', '24h').describe('How long the list of skills of a repository is cached.'),
    githubSkillsSource: literal('mirror', ['mirror', 'api']).describe(
      'How skills of repositories on GitHub are read: from a git mirror below HEADRACE_DATA_DIR, or by the API of GitHub.',
    ),
    githubApiToken: optionalSecret().describe(
      'Token for the API of GitHub when an environment names no secret. It only raises the rate limit; private repositories are not read with it.',
    ),
  }),
} as const;
