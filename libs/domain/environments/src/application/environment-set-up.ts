import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { directoryNames, repositoryUrl } from '#platform/git';
import { Database, type Queryable } from '#platform/persistence';
import type { RepositoryRef } from '#execution/runner-protocol';
import { ManagedSecrets, SealBrokenError, type SecretUse } from '#platform/secrets';
import type { Environment, RepositoryLogin } from '../domain/environment.js';
import { GithubAppError, type GithubAppRepository, GithubAppTokens, type TokenUse } from './github-app-tokens.js';
import { GithubInstallationsStore } from '../persistence/github-installations.store.js';
import { type RunRepository, withRepository } from '../domain/run-repository.js';
import { variableIssues, variableOf } from '../domain/secret-variables.js';

export type SetUp =
  | { readonly kind: 'ready'; readonly repositories: RepositoryRef[]; readonly secrets: Record<string, string> }
  /** For the owner of the run; names a secret and never contains a value. */
  | { readonly kind: 'impossible'; readonly message: string };

/** The system passes about two million bytes to a process, some of which the runner needs. */
const MAX_VARIABLE_BYTES = 1_000_000;

export type RepositoryCredentialResult =
  | { readonly kind: 'ready'; readonly credential: NonNullable<RepositoryRef['credential']> }
  /** `isTemporary`: GitHub has not answered, or limits requests. */
  | { readonly kind: 'impossible'; readonly message: string; readonly isTemporary?: boolean };

/** A repository with its secret in clear. `app`: the secret is a private key, which no runner gets. */
interface OpenedRepository {
  readonly repository: RepositoryRef;
  readonly app?: GithubAppRepository & { readonly identity: string };
}

type AskedRepository = RepositoryLogin & {
  readonly url: string;
  readonly ref?: string;
  readonly app?: Pick<GithubAppRepository, 'appId' | 'owner' | 'repo'>;
};

const NO_CREDENTIAL = 'The environment of the run has no credential for the repository any more.';

class MissingSecretError extends Error {}

/** A resource that refers to managed secrets for runs. */
export interface SecretNames {
  readonly kind: 'environment' | 'agent identity' | 'run';
  readonly uid: string;
  /** The team of the secrets; null for a person, who has none. */
  readonly teamUid: string | null;
  readonly secrets: readonly string[];
  /** Further variables, which no secret may replace. */
  readonly env?: Readonly<Record<string, string>>;
}

const namesOf = ({ uid, teamUid, config: { secrets = [], env = {} } }: Environment): SecretNames => ({
  kind: 'environment',
  uid,
  teamUid,
  secrets: secrets.map(({ name }) => name),
  env,
});

/** What a runner needs to prepare a workspace, with credentials in clear: for the runner, never for a response. */
@Injectable()
export class EnvironmentSetUp {
  private readonly logger = new Logger(EnvironmentSetUp.name);

  constructor(
    private readonly settings: Settings,
    private readonly database: Database,
    private readonly managed: ManagedSecrets,
    private readonly appTokens: GithubAppTokens,
    private readonly installations: GithubInstallationsStore,
  ) {}

  /** The environment for a run that names this repository; null: it does not allow it. */
  forRepository(environment: Environment, repository: RunRepository | undefined): Environment | null {
    const config = withRepository(environment.config, repository, this.settings.githubUrl);
    return config && { ...environment, config };
  }

  /** `environment`: of {@link forRepository}. `holders`: the run and the agent identity that executes it. Their secrets win over variables of the environment. */
  async of(environment: Environment | null, holders: readonly SecretNames[], use: SecretUse): Promise<SetUp> {
    try {
      const env = environment?.config.env ?? {};
      const resolved = await this.database.transaction(async (tx) => {
        const secrets: Record<string, string> = {};
        for (const holder of [...(environment ? [namesOf(environment)] : []), ...holders])
          Object.assign(secrets, await this.secretsOf(holder, tx));
        const opened = environment ? await this.repositoriesOf(environment, tx) : [];
        for (const { teamUid, secrets: named } of used(environment, holders))
          if (teamUid !== null) await this.managed.recordUse(tx, teamUid, named, use);
        return { opened, secrets };
      });
      const variables = Object.entries({ ...env, ...resolved.secrets });
      const bytes = variables.reduce(
        (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
        0,
      );
      if (bytes > MAX_VARIABLE_BYTES)
        return impossible(
          `Variables and secrets of the environment, the agent identity and the run have ${bytes} bytes; the limit is ${MAX_VARIABLE_BYTES} bytes.`,
        );
      // Not in the transaction: GitHub may respond slowly.
      const repositories = await Promise.all(resolved.opened.map((one) => this.withToken(one)));
      return { kind: 'ready', repositories, secrets: resolved.secrets };
    } catch (error) {
      return reasonOf(error);
    }
  }

  /** The URLs of the repositories. `environment`: of {@link forRepository}. */
  urlsOf({ config: { github_repos = [], git_repos = [] } }: Environment): string[] {
    return [...github_repos.map((one) => repositoryUrl(this.settings, one)), ...git_repos.map(({ url }) => url)];
  }

  /** The URL of the repository with this page, if the environment has a credential for its HTTP API; null: it has none. */
  repositoryWithLogin({ config }: Environment, page: string): string | null {
    const { github_repos = [], git_repos = [] } = config;
    const named = [...github_repos.map((one) => ({ ...one, url: repositoryUrl(this.settings, one) })), ...git_repos];
    const found = named.find(
      ({ url, secret_name: secret }) => secret !== undefined && pageOf(url) === page.toLowerCase(),
    );
    return found?.url ?? null;
  }

  /** A credential for the rest of an execution whose first one expires, or for what the service does itself. */
  async credentialOf(
    environment: Environment,
    url: string,
    use: SecretUse,
    tokenUse: TokenUse = 'runs',
  ): Promise<RepositoryCredentialResult> {
    try {
      const opened = await this.database.transaction(async (tx) => {
        const found = (await this.repositoriesOf(environment, tx, url))[0];
        const { teamUid } = environment;
        if (found?.secretName !== undefined && teamUid !== null)
          await this.managed.recordUse(tx, teamUid, [found.secretName], use);
        return found;
      });
      const credential = opened && (await this.withToken(opened, tokenUse)).credential;
      return credential ? { kind: 'ready', credential } : impossible(NO_CREDENTIAL);
    } catch (error) {
      return reasonOf(error);
    }
  }

  /** GitHub has rejected a token of an App that {@link credentialOf} has returned. */
  discardToken(token: string): void {
    this.appTokens.discard(token);
  }

  private async withToken({ repository, app }: OpenedRepository, use: TokenUse = 'runs'): Promise<RepositoryRef> {
    if (!app) return repository;
    const { token: password, expiresAt } = await this.appTokens.mint(app, use);
    return {
      ...repository,
      credential: { password, expires_at: expiresAt.toISOString(), identity: app.identity },
    };
  }

  /** `only`: the URL of the one that is needed. */
  private async repositoriesOf(
    environment: Environment,
    tx: Queryable,
    only?: string,
  ): Promise<(OpenedRepository & { readonly secretName: string | undefined })[]> {
    const { github_repos = [], git_repos = [] } = environment.config;
    const asked: readonly AskedRepository[] = [
      ...github_repos.map(({ github_app_id: appId, ...rest }) => ({
        ...rest,
        url: repositoryUrl(this.settings, rest),
        ...(appId !== undefined && { app: { appId, owner: rest.owner, repo: rest.repo } }),
      })),
      ...git_repos,
    ];
    const directories = directoryNames(asked.map(({ url }) => url));
    const opened = [];
    for (const [index, { url, ref, secret_name: secretName, username, api_access: access, app }] of asked.entries()) {
      if (only !== undefined && only !== url) continue;
      const secret = secretName === undefined ? undefined : await this.secretOf(namesOf(environment), secretName, tx);
      const repository = {
        url,
        ...(ref !== undefined && { ref }),
        // Tokens of an App open this repository only.
        ...((app || access === 'token') && secret !== undefined && { api_access: 'token' as const }),
        directory: directories[index] ?? 'repository',
      };
      if (secret === undefined) opened.push({ repository, secretName });
      else if (app) {
        const identity = JSON.stringify([environment.teamUid, secretName, secret.version, app.appId]);
        const installationVersion = await this.installations.versionOf(tx, environment.teamUid, app);
        const opening = { ...app, privateKey: secret.value, identity, installationVersion };
        opened.push({ repository, secretName, app: opening });
      } else {
        const credential = { password: secret.value, ...(username !== undefined && { username }) };
        opened.push({ repository: { ...repository, credential }, secretName });
      }
    }
    return opened;
  }

  private async secretsOf(holder: SecretNames, tx: Queryable): Promise<Record<string, string>> {
    const [issue] = variableIssues({ env: holder.env, secrets: holder.secrets.map((name) => ({ name })) });
    if (issue) throw new MissingSecretError(`A secret of the ${holder.kind} ${issue.detail}.`);
    const values: Record<string, string> = {};
    for (const name of holder.secrets) values[variableOf(name)] = (await this.secretOf(holder, name, tx)).value;
    return values;
  }

  private async secretOf(
    { kind, uid, teamUid }: SecretNames,
    name: string,
    tx: Queryable,
  ): Promise<{ readonly value: string; readonly version: number }> {
    try {
      const found = teamUid === null ? null : await this.managed.readForRun(tx, teamUid, name);
      if (found) return found;
    } catch (error) {
      if (!(error instanceof SealBrokenError)) throw error;
      this.logger.error(`The managed secret ${name}, which ${kind} ${uid} names, does not open: ${error.message}`);
      throw new MissingSecretError(`The managed secret ${name}, which the ${kind} names, cannot be read.`);
    }
    throw new MissingSecretError(
      `The managed secret ${name}, which the ${kind} names, no longer exists or is for webhooks.`,
    );
  }
}

/** The names of all secrets whose values are read, by the team that owns them. */
function used(
  environment: Environment | null,
  holders: readonly SecretNames[],
): Pick<SecretNames, 'teamUid' | 'secrets'>[] {
  const { github_repos: github = [], git_repos: git = [] } = environment?.config ?? {};
  const logins = [...github, ...git].flatMap(({ secret_name: name }) => (name === undefined ? [] : [name]));
  const all = [
    ...(environment ? [namesOf(environment), { ...namesOf(environment), secrets: logins }] : []),
    ...holders,
  ];
  return [...new Set(all.map(({ teamUid }) => teamUid))].map((teamUid) => ({
    teamUid,
    secrets: all.filter((holder) => holder.teamUid === teamUid).flatMap(({ secrets }) => secrets),
  }));
}

/** Of an HTTP URL; other ones have no credential for the API. */
const pageOf = (url: string): string | null =>
  /^https?:/i.test(url)
    ? url
        .replace(/\/+$/, '')
        .replace(/\.git$/, '')
        .toLowerCase()
    : null;

const impossible = (message: string) => ({ kind: 'impossible' as const, message });

/** Throws what is no reason for the owner of the run. */
function reasonOf(error: unknown) {
  if (error instanceof MissingSecretError) return impossible(error.message);
  if (error instanceof GithubAppError) return { ...impossible(error.message), isTemporary: error.isTemporary };
  throw error;
}
