import type { RunState } from '#execution/executions';
import type { Owner, PrincipalRef } from '#platform/auth';

/** How a repository is opened: by a managed secret of the environment's team. */
export interface RepositoryLogin {
  secret_name?: string;
  username?: string;
  /** `token`: agents may use it for requests that cannot be limited to the repository. */
  api_access?: 'repository' | 'token';
}

/** `github_app_id`: the secret is the private key of this GitHub App. */
export interface GithubRepository extends RepositoryLogin {
  owner: string;
  /** `*`: any repository of the owner, see `withRepository`. */
  repo: string;
  /** Of a run that names the repository. */
  ref?: string;
  github_app_id?: number;
}

/** Of one team or person. */
export const MAX_ENVIRONMENTS = 1_000;
/** As PostgreSQL writes JSON: with a space behind each colon and comma. */
export const MAX_CONFIG_BYTES = 262_144;

/** As on the wire (contract: `EnvironmentConfig`). `env` values are kept as given and masked wherever they are shown. */
export interface EnvironmentConfig {
  name?: string;
  description?: string | null;
  docker_image?: string;
  github_repos?: GithubRepository[];
  setup_commands?: string[];
  git_repos?: ({ url: string; ref?: string } & RepositoryLogin)[];
  env?: Record<string, string>;
  secrets?: { name: string }[];
  failure_session_retention_minutes?: number | null;
  /** Set-up commands are executed in a restored workspace, too. */
  setup_on_resume?: boolean;
  providers?: { gcp?: Record<string, unknown>; aws?: { role_arn: string } };
}

export type Environment = Owner & { readonly uid: string; readonly config: EnvironmentConfig };

/** With what only its own responses show. */
export type EnvironmentDetails = Environment & {
  readonly setupFailed: boolean;
  readonly creator: PrincipalRef;
  readonly lastEditor: PrincipalRef;
  readonly createdAt: Date;
  readonly updatedAt: Date;
};

export interface LastRun {
  readonly id: string;
  readonly title: string;
  readonly state: RunState;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly startedAt: Date | null;
}
