import {
  addressRanges,
  directories,
  duration,
  integer,
  literal,
  optionalSecret,
  publicOrigin,
  repositoryBase,
  setting,
  settingGroup,
} from '../setting-kinds.js';

const MIB = 1_048_576;

export const REPOSITORY_SETTINGS = {
  ...settingGroup('Repositories', {
    githubUrl: setting(
      repositoryBase('https://github.com'),
      'Base URL from which github_repos of environments are cloned, as GITHUB_URL/owner/repo.git: GitHub, GitHub Enterprise Server, or a directory below GIT_LOCAL_ROOTS.',
    ),
    gitLocalRoots: setting(
      directories(),
      'Directories, comma-separated, whose repositories environments may name by path or file:// URL. Everybody who manages an environment can read all of them. Default: none.',
    ),
    gitAllowPrivate: setting(
      addressRanges(),
      'Addresses or CIDR ranges, comma-separated, from which the API and the processor may fetch repositories although they are not public. GITHUB_URL is always allowed.',
    ),
    gitCloneTimeout: setting(duration('10min', '1s', '6h'), 'Maximum time to clone one repository.'),
    gitMaxRepositoryBytes: setting(
      integer(5 * 1024 * MIB, MIB, Number.MAX_SAFE_INTEGER),
      'Maximum size of the mirror of one repository below HEADRACE_DATA_DIR, in bytes.',
    ),
    gitMirrorsMaxBytes: setting(
      integer(20 * 1024 * MIB, MIB, Number.MAX_SAFE_INTEGER),
      'Maximum size of all mirrors of repositories together, in bytes. Above it, the least recently used mirrors that are not in use are deleted.',
    ),
  }),
  ...settingGroup('Skills', {
    skillsCacheTtl: setting(duration('5min', '0s', '24h'), 'How long the list of skills of a repository is cached.'),
    githubSkillsSource: setting(
      literal('mirror', ['mirror', 'api']),
      'How skills of repositories on GitHub are read: from a git mirror below HEADRACE_DATA_DIR, or by the API of GitHub.',
    ),
    githubApiUrl: setting(
      publicOrigin(),
      'API of GitHub, for GITHUB_SKILLS_SOURCE=api; of GitHub Enterprise Server https://HOST/api/v3. Default: https://api.github.com.',
    ),
    githubApiToken: setting(
      optionalSecret(),
      'Token for the API of GitHub when an environment names no secret. It only raises the rate limit; private repositories are not read with it.',
    ),
  }),
} as const;
