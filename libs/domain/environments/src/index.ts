export { EnvironmentDirectory } from './application/environment-directory.js';
export { EnvironmentSetUp, type SecretNames } from './application/environment-set-up.js';
export {
  GithubAppError,
  type GithubAppRepository,
  GithubAppTokens,
  isSuspension,
  rateLimitEnd,
} from './application/github-app-tokens.js';
export { GithubInstallationsStore } from './persistence/github-installations.store.js';
export { LastRuns, LastRunSource } from './application/last-runs.js';
export type { Environment, EnvironmentConfig, LastRun } from './domain/environment.js';
export type { RunRepository } from './domain/run-repository.js';
export { shownConfig } from './domain/masked-config.js';
export { variableIssues } from './domain/secret-variables.js';
export { EnvironmentsHttpModule, EnvironmentsModule } from './environments.module.js';
export { EnvironmentConfigDto, SecretRef as SecretRefDto } from './http/environment.dto.js';
