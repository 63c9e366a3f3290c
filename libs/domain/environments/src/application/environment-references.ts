import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { gitUrlFault, parseGitUrl, refFault } from '#platform/git';
import { type Issue, notAccessible, prefixIssues, type RejectionOf } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { ManagedSecrets } from '#platform/secrets';
import type { EnvironmentConfig, GithubRepository } from '../domain/environment.js';
import { ANY_REPOSITORY } from '../domain/run-repository.js';
import { reservedNameIssues, variableIssues } from '../domain/secret-variables.js';

const NO_TEAM = 'must not be given: a personal environment has no managed secrets, they belong to teams';

@Injectable()
export class EnvironmentReferences {
  constructor(
    private readonly settings: Settings,
    private readonly database: Database,
    private readonly secrets: ManagedSecrets,
  ) {}

  /** `teamUid`: the team of the environment; null for a personal one. At most one round trip. Null: nothing is wrong. */
  async check(
    teamUid: string | null,
    config: EnvironmentConfig,
  ): Promise<RejectionOf<'invalid' | 'not_accessible'> | null> {
    const named = namedSecrets(config);
    const issues = [
      ...(await this.repositoryIssues(config)),
      ...reservedNameIssues(config),
      ...variableIssues(config),
      ...(teamUid === null ? named.map(({ pointer }) => ({ pointer, detail: NO_TEAM })) : []),
    ];
    if (issues.length > 0) return { kind: 'invalid', issues: prefixIssues('/config', issues) };
    if (named.length === 0 || teamUid === null) return null;
    const names = [...new Set(named.map(({ name }) => name))];
    const known = await this.secrets.versionsForRuns(this.database, teamUid, names);
    const unknown = named.filter(({ name }) => !known.has(name));
    if (unknown.length === 0) return null;
    const detail = notAccessible('a managed secret');
    return { kind: 'not_accessible', issues: unknown.map(({ pointer }) => ({ pointer: `/config${pointer}`, detail })) };
  }

  private async repositoryIssues({ git_repos = [], github_repos = [] }: EnvironmentConfig): Promise<Issue[]> {
    const issues = github_repos.flatMap((repository, index) =>
      this.appIssues(repository).map((detail) => ({ pointer: `/github_repos/${index}/github_app_id`, detail })),
    );
    const entries = { github_repos, git_repos };
    for (const [field, repositories] of Object.entries(entries))
      for (const [index, { api_access: access, secret_name: secretName }] of repositories.entries())
        if (access !== undefined && secretName === undefined)
          issues.push({ pointer: `/${field}/${index}/api_access`, detail: 'needs `secret_name`' });
    for (const [index, { url, ref, secret_name: secretName }] of git_repos.entries()) {
      const urlRule = await gitUrlFault(url, this.settings.gitLocalRoots);
      if (url.includes(ANY_REPOSITORY) && !/^https?:\/\/[^*]+\/\*$/i.test(url))
        issues.push({
          pointer: `/git_repos/${index}/url`,
          detail: 'may have * only as its last part, after https:// or http://',
        });
      else if (urlRule !== null) issues.push({ pointer: `/git_repos/${index}/url`, detail: urlRule });
      else if (secretName !== undefined && !takesCredential(url))
        issues.push({ pointer: `/git_repos/${index}/secret_name`, detail: 'has no meaning for this kind of URL' });
      const rule = ref === undefined ? null : refFault(ref);
      if (rule !== null) issues.push({ pointer: `/git_repos/${index}/ref`, detail: rule });
    }
    return issues;
  }

  private appIssues({ github_app_id: appId, secret_name: secretName, username }: GithubRepository): string[] {
    if (appId === undefined) return [];
    if (secretName === undefined) return ['needs `secret_name`, the private key of the App'];
    if (username !== undefined) return ['must not be given with `username`'];
    return /^https?:/i.test(this.settings.githubUrl) ? [] : ['has no meaning: GITHUB_URL is a directory'];
  }
}

function takesCredential(url: string): boolean {
  const parsed = parseGitUrl(url);
  return parsed.kind === 'valid' && parsed.location.kind === 'remote' && parsed.location.protocol !== 'git';
}

function namedSecrets(config: EnvironmentConfig): { pointer: string; name: string }[] {
  const { secrets = [], git_repos = [], github_repos = [] } = config;
  const ofRepositories = (field: string, repositories: readonly { secret_name?: string }[]) =>
    repositories.flatMap(({ secret_name: name }, index) =>
      name === undefined ? [] : [{ pointer: `/${field}/${index}/secret_name`, name }],
    );
  return [
    ...secrets.map(({ name }, index) => ({ pointer: `/secrets/${index}/name`, name })),
    ...ofRepositories('github_repos', github_repos),
    ...ofRepositories('git_repos', git_repos),
  ];
}
