import type { MigrationClass } from '#libs/persistence';
import { Environments1700000002001 } from './persistence/environments-1700000002001.js';
import { Environments1700000007101 } from './persistence/environments-1700000007101.js';

export { CreateEnvironment, type CreateEnvironmentResult } from './application/create-environment.js';
export {
  EnvironmentDirectory,
  type EnvironmentUse,
  type RunInEnvironment,
} from './application/environment-directory.js';
export { LastRuns, LastRunSource } from './application/last-runs.js';
export { EnvironmentSetUp, type SetUp } from './application/environment-set-up.js';
export { ListEnvironments } from './application/list-environments.js';
export type { Environment, EnvironmentConfig, EnvironmentDetails } from './domain/environment.js';
export type { LastRun } from './domain/last-run.js';
export { shownConfig } from './domain/shown-config.js';
export { EnvironmentsHttpModule, EnvironmentsModule } from './environments.module.js';
export { EnvironmentConfigDto } from './http/environment.dto.js';
export const environmentMigrations: readonly MigrationClass[] = [Environments1700000002001, Environments1700000007101];
