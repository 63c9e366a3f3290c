import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { directoryNames, repositoryUrl } from '#platform/git';
import { Database, type Queryable } from '#platform/persistence';
import type { RepositoryRef } from '#execution/runner-protocol';
import { ManagedSecrets, SealBrokenError, type SecretUse } from '#platform/secrets';
import type { Environment, RepositoryLogin } from '../domain/environment.js';
import { variableIssues, variableOf } from '../domain/secret-variables.js';

export type SetUp =
  | { readonly kind: 'ready'; readonly repositories: RepositoryRef[]; readonly secrets: Record<string, string> }
  /** For the owner of the run; names a secret and never contains a value. */
  | { readonly kind: 'impossible'; readonly message: string };

/** The system passes about two million bytes to a process, some of which the runner needs. */
const MAX_VARIABLE_BYTES = 1_000_000;

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
  ) {}

  /** `holders`: the run and the agent identity that executes it. Their secrets win over variables of the environment. */
  async of(environment: Environment | null, holders: readonly SecretNames[], use: SecretUse): Promise<SetUp> {
    try {
      const env = environment?.config.env ?? {};
      const resolved = await this.database.transaction(async (tx) => {
        const secrets: Record<string, string> = {};
        for (const holder of [...(environment ? [namesOf(environment)] : []), ...holders])
          Object.assign(secrets, await this.secretsOf(holder, tx));
        const repositories = environment ? await this.repositoriesOf(environment, tx) : [];
        for (const { teamUid, secrets: named } of used(environment, holders))
          if (teamUid !== null) await this.managed.recordUse(tx, teamUid, named, use);
        return { repositories, secrets };
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
      return { kind: 'ready', ...resolved };
    } catch (error) {
      if (error instanceof MissingSecretError) return impossible(error.message);
      throw error;
    }
  }

  private async repositoriesOf(environment: Environment, tx: Queryable): Promise<RepositoryRef[]> {
    const { github_repos = [], git_repos = [] } = environment.config;
    const asked: readonly ({ url: string; ref?: string } & RepositoryLogin)[] = [
      ...github_repos.map(({ owner, repo, ...rest }) => ({
        ...rest,
        url: repositoryUrl(this.settings, { owner, repo }),
      })),
      ...git_repos,
    ];
    const directories = directoryNames(asked.map(({ url }) => url));
    const repositories: RepositoryRef[] = [];
    for (const [index, { url, ref, secret_name: secretName, username }] of asked.entries()) {
      const password = secretName === undefined ? undefined : await this.valueOf(namesOf(environment), secretName, tx);
      repositories.push({
        url,
        ...(ref !== undefined && { ref }),
        directory: directories[index] ?? 'repository',
        ...(password !== undefined && { credential: { password, ...(username !== undefined && { username }) } }),
      });
    }
    return repositories;
  }

  private async secretsOf(holder: SecretNames, tx: Queryable): Promise<Record<string, string>> {
    const [issue] = variableIssues({ env: holder.env, secrets: holder.secrets.map((name) => ({ name })) });
    if (issue) throw new MissingSecretError(`A secret of the ${holder.kind} ${issue.detail}.`);
    const values: Record<string, string> = {};
    for (const name of holder.secrets) values[variableOf(name)] = await this.valueOf(holder, name, tx);
    return values;
  }

  private async valueOf({ kind, uid, teamUid }: SecretNames, name: string, tx: Queryable): Promise<string> {
    try {
      const found = teamUid === null ? null : await this.managed.readForRun(tx, teamUid, name);
      if (found) return found.value;
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

const impossible = (message: string): SetUp => ({ kind: 'impossible', message });
