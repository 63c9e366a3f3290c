import { Injectable } from '@nestjs/common';
import {
  type Environment,
  EnvironmentDirectory,
  EnvironmentSetUp,
  GithubAppError,
  type GithubAppRepository,
  GithubAppTokens,
  GithubInstallationsStore,
} from '#domain/environments';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { repositoryUrl } from '#platform/git';
import { Database } from '#platform/persistence';
import { ManagedSecrets } from '#platform/secrets';
import {
  keyOf,
  type SkillCredential,
  type SkillLogin,
  type SkillRepository,
  type Unreadable,
  unreadable,
} from './skill-sources.js';
import { repositoryNameOf } from '../domain/skill-spec.js';

interface NamedEnvironment {
  readonly uid: string;
  readonly name: string;
}

export interface EnvironmentRepository {
  readonly repository: SkillRepository;
  readonly environments: readonly NamedEnvironment[];
  /** In an environment of the caller or of the teams of the request, not in one that others share. */
  readonly isOwn: boolean;
}

interface Login {
  readonly secret_name?: string;
  readonly username?: string;
  readonly github_app_id?: number;
}
interface Use {
  readonly environment: Environment;
  readonly repository: Omit<SkillRepository, 'credential'>;
  readonly login: Login;
}

@Injectable()
export class SkillRepositories {
  constructor(
    private readonly environments: EnvironmentDirectory,
    private readonly setUps: EnvironmentSetUp,
    private readonly secrets: ManagedSecrets,
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly appTokens: GithubAppTokens,
    private readonly installations: GithubInstallationsStore,
  ) {}

  /**
   * Each once for each credential that it is read by, in the order of environments' names, one's own first: they are
   * neither crowded out nor hidden by what somebody shares.
   */
  async ofCaller(caller: Caller): Promise<EnvironmentRepository[]> {
    return this.ofOwnFirst(await this.environments.list(caller, 'runs:write'), caller);
  }

  /** {@link ofCaller}, and those of environments that the caller may only see, unless a credential opens them. */
  async visibleTo(caller: Caller): Promise<EnvironmentRepository[]> {
    const usable = await this.environments.list(caller, 'runs:write');
    const uids = new Set(usable.map(({ uid }) => uid));
    const visible = (await this.environments.list(caller, 'environments:read')).filter(({ uid }) => !uids.has(uid));
    return this.ofOwnFirst([...usable, ...visible.map(withoutCredentials)], caller);
  }

  private async ofOwnFirst(all: readonly Environment[], caller: Caller): Promise<EnvironmentRepository[]> {
    const [own, shared] = [true, false].map((wanted) => all.filter((one) => isOwn(one, caller) === wanted));
    return this.ofEnvironments([...(own ?? []), ...(shared ?? [])], caller);
  }

  async ofEnvironments(environments: readonly Environment[], caller: Caller): Promise<EnvironmentRepository[]> {
    const uses = environments.flatMap((environment) => this.usesOf(environment));
    const versions = await this.versionsOf(uses);
    const found = new Map<string, EnvironmentRepository & { environments: NamedEnvironment[] }>();
    for (const { environment, repository, login } of uses) {
      const credential = this.credentialOf(environment, repository, login, versions);
      const readFor = environment.teamUid ?? environment.userUid;
      // Public repositories share one key, so that the first caller to name one does not delay the others.
      const isPublic = repository.isGithub && !credential;
      const reachable = { ...repository, ...(credential && { credential }), ...(!isPublic && { readFor }) };
      const { uid, config } = environment;
      const place = { uid, name: config.name ?? '' };
      const entry = found.get(keyOf(reachable));
      if (!entry)
        // Own ones come first, so that the first decides.
        found.set(keyOf(reachable), {
          repository: reachable,
          environments: [place],
          isOwn: isOwn(environment, caller),
        });
      else if (!entry.environments.some((known) => known.uid === uid)) entry.environments.push(place);
    }
    return [...found.values()];
  }

  /** One that everybody may read, whether it exists or not. */
  publicOne(owner: string, repo: string): SkillRepository {
    return { owner, name: repo, url: this.githubUrlOf(owner, repo), isGithub: true };
  }

  private usesOf(environment: Environment): Use[] {
    const { github_repos = [], git_repos = [] } = this.setUps.forRepository(environment, undefined)?.config ?? {};
    return [
      ...github_repos.map(({ owner, repo, ...login }) => ({
        environment,
        repository: this.publicOne(owner, repo),
        login,
      })),
      ...git_repos.map(({ url, ref, ...login }) => ({
        environment,
        repository: { ...repositoryNameOf(url), url, ...(ref !== undefined && { ref }), isGithub: false },
        login,
      })),
    ];
  }

  /** GitHub does not tell names apart by case. */
  private githubUrlOf(owner: string, repo: string): string {
    const { githubUrl } = this.settings;
    const isRemote = /^https?:/i.test(githubUrl);
    const place = isRemote ? { owner: owner.toLowerCase(), repo: repo.toLowerCase() } : { owner, repo };
    return repositoryUrl({ githubUrl }, place);
  }

  /** By team and name; a round trip for each team whose environments name any. */
  private async versionsOf(uses: readonly Use[]): Promise<ReadonlyMap<string, number>> {
    const names = new Map<string, Set<string>>();
    for (const { environment, login } of uses) {
      if (login.secret_name === undefined || environment.teamUid === null) continue;
      const ofTeam = names.get(environment.teamUid) ?? new Set();
      names.set(environment.teamUid, ofTeam.add(login.secret_name));
    }
    const found = new Map<string, number>();
    for (const [teamUid, ofTeam] of names) {
      const versions = await this.secrets.versionsForRuns(this.database, teamUid, [...ofTeam]);
      for (const [name, version] of versions) found.set(`${teamUid}/${name}`, version);
    }
    return found;
  }

  private async tokenOf(app: GithubAppRepository, identity: string): Promise<SkillLogin | Unreadable> {
    try {
      return { password: (await this.appTokens.mint(app, 'skills')).token, identity };
    } catch (error) {
      if (error instanceof GithubAppError) return unreadable(error.message, error.isTemporary);
      throw error;
    }
  }

  /** Only by secrets of the environment's own team; one that is gone opens nothing. */
  private credentialOf(
    { teamUid }: Environment,
    { owner, name: repo }: Use['repository'],
    { secret_name: name, username, github_app_id: appId }: Login,
    versions: ReadonlyMap<string, number>,
  ): SkillCredential | undefined {
    if (name === undefined) return undefined;
    const version = teamUid === null ? undefined : versions.get(`${teamUid}/${name}`);
    const identity = JSON.stringify([teamUid, name, username ?? null, version ?? null, appId ?? null]);
    if (teamUid === null || version === undefined) return { identity, open: () => Promise.resolve(null) };
    return {
      identity,
      open: async () => {
        const secret = await this.secrets.readForRun(this.database, teamUid, name);
        if (secret?.version !== version) return null;
        await this.secrets.recordUse(this.database, teamUid, [name], READ_SKILLS);
        if (appId !== undefined) {
          const installationVersion = await this.installations.versionOf(this.database, teamUid, { appId, owner });
          const app = { appId, privateKey: secret.value, owner, repo, installationVersion };
          return this.tokenOf(app, identity);
        }
        return { password: secret.value, ...(username !== undefined && { username }) };
      },
    };
  }
}

const READ_SKILLS = { actor: { type: 'system' }, details: { purpose: 'skills of repositories' } } as const;

function withoutCredentials({ config, ...rest }: Environment): Environment {
  const open = <T extends Login>(repositories: readonly T[] = []): T[] =>
    repositories.filter(({ secret_name: name }) => name === undefined);
  return { ...rest, config: { ...config, github_repos: open(config.github_repos), git_repos: open(config.git_repos) } };
}

const isOwn = ({ teamUid, userUid }: Environment, { principal, teamUids }: Caller): boolean =>
  teamUid === null ? principal.type === 'user' && userUid === principal.uid : teamUids.includes(teamUid);
