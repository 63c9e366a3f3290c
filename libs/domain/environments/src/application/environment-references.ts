import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { gitUrlFault, parseGitUrl, refFault } from '#platform/git';
import { type Issue, notAccessible } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { ManagedSecrets } from '#platform/secrets';
import type { EnvironmentConfig } from '../domain/environment.js';
import { reservedFaults, variableFaults } from '../domain/secret-variables.js';

export type ReferenceFaults =
  | { readonly kind: 'none' }
  | { readonly kind: 'invalid'; readonly faults: readonly Issue[] }
  /** It names what does not exist, or what is not the owner's. */
  | { readonly kind: 'not_authorized'; readonly faults: readonly Issue[] };

const NO_TEAM = 'must not be given: a personal environment has no managed secrets, they belong to teams';

/** Follows what a configuration names: repositories and managed secrets. Asked again when a run begins. */
@Injectable()
export class EnvironmentReferences {
  constructor(
    private readonly settings: Settings,
    private readonly database: Database,
    private readonly secrets: ManagedSecrets,
  ) {}

  /** `teamUid`: whose environment it is to be; null for a person's. At most one round trip. */
  async check(teamUid: string | null, config: EnvironmentConfig): Promise<ReferenceFaults> {
    const named = namedSecrets(config);
    const faults = [
      ...(await this.repositoryFaults(config)),
      ...reservedFaults(config),
      ...variableFaults(config),
      ...(teamUid === null ? named.map(({ pointer }) => ({ pointer, detail: NO_TEAM })) : []),
    ];
    if (faults.length > 0) return { kind: 'invalid', faults };
    if (named.length === 0 || teamUid === null) return { kind: 'none' };
    const names = [...new Set(named.map(({ name }) => name))];
    const known = await this.secrets.versionsForRuns(this.database, teamUid, names);
    const unknown = named.filter(({ name }) => !known.has(name));
    if (unknown.length === 0) return { kind: 'none' };
    const detail = notAccessible('a managed secret');
    return { kind: 'not_authorized', faults: unknown.map(({ pointer }) => ({ pointer, detail })) };
  }

  private async repositoryFaults({ git_repos = [] }: EnvironmentConfig): Promise<Issue[]> {
    const faults: Issue[] = [];
    for (const [index, { url, ref, secret_name: secretName }] of git_repos.entries()) {
      const urlFault = await gitUrlFault(url, this.settings.gitLocalRoots);
      if (urlFault !== null) faults.push({ pointer: `/git_repos/${index}/url`, detail: urlFault });
      else if (secretName !== undefined && !takesCredential(url))
        faults.push({ pointer: `/git_repos/${index}/secret_name`, detail: 'has no meaning for this kind of URL' });
      const fault = ref === undefined ? null : refFault(ref);
      if (fault !== null) faults.push({ pointer: `/git_repos/${index}/ref`, detail: fault });
    }
    return faults;
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
