import type { MigrationClass } from '#libs/persistence';
import { Factories1700000001001 } from './persistence/factories-1700000001001.js';

export { CreateFactory, type CreateFactoryCommand, type CreateFactoryResult } from './application/create-factory.js';
export {
  FactoryAccess,
  type FactoryLookup,
  type FactoryRefusal,
  refusalToManage,
} from './application/factory-access.js';
export type { Factory, FactoryFields } from './application/factory.js';
export { FindFactory } from './application/find-factory.js';
export { ListFactories } from './application/list-factories.js';
export { LockFactory } from './application/lock-factory.js';
export {
  SearchFactories,
  type SearchFactoriesQuery,
  type SearchFactoriesResult,
} from './application/search-factories.js';
export { UpdateFactory, type UpdateFactoryResult } from './application/update-factory.js';
export { managedFactory, unknownFactory } from './http/managed-factory.js';
export { FactoriesModule } from './factories.module.js';
export const factoryMigrations: readonly MigrationClass[] = [Factories1700000001001];
