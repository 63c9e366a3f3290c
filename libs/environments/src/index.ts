import type { MigrationClass } from '#libs/persistence';
import { Environments1700000002001 } from './persistence/environments-1700000002001.js';

export { CreateEnvironment, type CreateEnvironmentResult } from './application/create-environment.js';
export { EnvironmentDirectory } from './application/environment-directory.js';
export { ListEnvironments } from './application/list-environments.js';
export type { Environment, EnvironmentConfig, EnvironmentDetails } from './domain/environment.js';
export { EnvironmentsHttpModule, EnvironmentsModule } from './environments.module.js';
export { EnvironmentConfigDto } from './http/environment.dto.js';
export const environmentMigrations: readonly MigrationClass[] = [Environments1700000002001];
