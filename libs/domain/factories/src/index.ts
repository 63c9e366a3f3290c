export { CreateFactory, type CreateFactoryCommand, type CreateFactoryResult } from './application/create-factory.js';
export {
  FactoryAccess,
  type FactoryLookup,
  type FactoryRejection,
  manageRejection,
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
