export {
  EnvironmentDirectory,
  type EnvironmentUse,
  type RunInEnvironment,
} from './application/environment-directory.js';
export { EnvironmentSetUp, type SecretNames, type SetUp } from './application/environment-set-up.js';
export { LastRuns, LastRunSource } from './application/last-runs.js';
export type { Environment, EnvironmentConfig, EnvironmentDetails, LastRun } from './domain/environment.js';
export { shownConfig } from './domain/masked-config.js';
export { variableIssues } from './domain/secret-variables.js';
export { EnvironmentsHttpModule, EnvironmentsModule } from './environments.module.js';
export { EnvironmentConfigDto } from './http/environment.dto.js';
