/** How a repository is opened: by a managed secret of the environment's team. */
export interface RepositoryLogin {
  secret_name?: string;
  username?: string;
}

/** As on the wire (contract: `EnvironmentConfig`). `env` values are kept as given and masked wherever they are shown. */
export interface EnvironmentConfig {
  name?: string;
  description?: string | null;
  docker_image?: string;
  github_repos?: ({ owner: string; repo: string } & RepositoryLogin)[];
  setup_commands?: string[];
  git_repos?: ({ url: string; ref?: string } & RepositoryLogin)[];
  env?: Record<string, string>;
  secrets?: { name: string }[];
  failure_session_retention_minutes?: number | null;
  providers?: { gcp?: Record<string, unknown>; aws?: { role_arn: string } };
}

/** Belongs to a team or to one person: exactly one of the two uids is set. */
export interface Environment {
  readonly uid: string;
  readonly teamUid: string | null;
  readonly ownerUserUid: string | null;
  readonly config: EnvironmentConfig;
}

/** With what only its own pages show. */
export interface EnvironmentDetails extends Environment {
  readonly setupFailed: boolean;
  readonly creator: { readonly type: 'user' | 'service_account'; readonly uid: string };
  readonly lastEditor: { readonly type: 'user' | 'service_account'; readonly uid: string };
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The latest run in an environment, as its list shows it. */
export interface LastRun {
  readonly id: string;
  readonly title: string;
  readonly state: LastRunState;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly startedAt: Date | null;
}

/** The states of runs; the library that owns runs defines their meaning. */
export const LAST_RUN_STATES = [
  'QUEUED',
  'PENDING',
  'CLAIMED',
  'INPROGRESS',
  'SUCCEEDED',
  'FAILED',
  'BLOCKED',
  'ERROR',
  'CANCELLED',
] as const;
export type LastRunState = (typeof LAST_RUN_STATES)[number];
