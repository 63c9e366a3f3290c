export { CreateEnvironment, type CreateEnvironmentResult } from './application/create-environment.js';
export {
  EnvironmentDirectory,
  type EnvironmentUse,
  type RunInEnvironment,
} from './application/environment-directory.js';
export { LastRuns, LastRunSource } from './application/last-runs.js';
export { EnvironmentSetUp, type SecretNames, type SetUp } from './application/environment-set-up.js';
export { ListEnvironments } from './application/list-environments.js';
export type { Environment, EnvironmentConfig, EnvironmentDetails } from './domain/environment.js';
export type { LastRun } from './domain/last-run.js';
export { variableFaults } from './domain/secret-variables.js';
export { shownConfig } from './domain/shown-config.js';
export { EnvironmentsHttpModule, EnvironmentsModule } from './environments.module.js';
export { EnvironmentConfigDto } from './http/environment.dto.js';
