import { describe, expect, it } from 'vitest';
import type { EnvironmentConfig } from './environment.js';
import { withRepository } from './run-repository.js';

const GITHUB = 'https://github.com';
const apply = (config: EnvironmentConfig, url?: string, ref?: string) =>
  withRepository(config, url === undefined ? undefined : { url, ...(ref !== undefined && { ref }) }, GITHUB);
const LOGIN = { secret_name: 'token' };

describe('the repository of a run', () => {
  const config = { github_repos: [{ owner: 'acme', repo: '*', ...LOGIN }] };

  it('is one that a pattern of an account contains, with the credential of the pattern', () => {
    expect(apply(config, 'https://github.com/acme/Service.git', 'main')).toEqual({
      github_repos: [{ owner: 'acme', repo: 'Service', ref: 'main', ...LOGIN }],
      git_repos: [],
    });
  });

  it.each([
    'https://github.com/acme-2/service',
    'https://github.com/acme',
    'https://github.com/acme/service/other',
    'https://github.com/acme/..',
    'https://github.com/acme/../other/service',
    'https://github.com/acme/%2e%2e/service',
    'https://github.com/acme/service?x=1',
    'https://github.com/acme/service#x',
    'https://github.com@evil.example/acme/service',
    'https://evil.example/acme/service',
    'http://github.com/acme/service',
    'https://github.com/acme//service',
  ])('is not %s', (url) => {
    expect(apply(config, url)).toBeNull();
  });

  it('is one of a group with its groups', () => {
    const groups = { git_repos: [{ url: 'https://gitlab.example.com/acme/*', username: 'bot', ...LOGIN }] };
    const url = 'https://gitlab.example.com/acme/tools/cli.git';
    expect(apply(groups, url)).toEqual({ github_repos: [], git_repos: [{ url, username: 'bot', ...LOGIN }] });
    expect(apply(groups, 'https://gitlab.example.com/acmeo/cli')).toBeNull();
    // Another group, on a server that distinguishes case.
    expect(apply(groups, 'https://GitLab.example.com/Acme/cli')).toBeNull();
    expect(apply(groups, 'https://GitLab.example.com/acme/cli')).not.toBeNull();
  });

  it('is the entry with its name before a pattern, and other entries stay', () => {
    const both: EnvironmentConfig = {
      setup_commands: ['make'],
      github_repos: [
        { owner: 'acme', repo: '*' },
        { owner: 'Acme', repo: 'service', ...LOGIN },
      ],
      git_repos: [{ url: 'https://git.example.com/library.git' }],
    };
    expect(apply(both, 'https://github.com/acme/service', 'v2')).toEqual({
      setup_commands: ['make'],
      github_repos: [{ owner: 'Acme', repo: 'service', ref: 'v2', ...LOGIN }],
      git_repos: [{ url: 'https://git.example.com/library.git' }],
    });
  });

  it('has the credential of the longest pattern that contains it', () => {
    const nested = {
      git_repos: [
        { url: 'https://git.example.com/*', secret_name: 'all' },
        { url: 'https://git.example.com/acme/*', secret_name: 'acme' },
      ],
    };
    expect(apply(nested, 'https://git.example.com/acme/x')?.git_repos).toMatchObject([{ secret_name: 'acme' }]);
    expect(apply(nested, 'https://git.example.com/other/x')?.git_repos).toMatchObject([{ secret_name: 'all' }]);
  });

  it('is none without a name: patterns are left out', () => {
    expect(apply({ ...config, git_repos: [{ url: 'https://git.example.com/*' }] })).toEqual({
      github_repos: [],
      git_repos: [],
    });
  });
});
