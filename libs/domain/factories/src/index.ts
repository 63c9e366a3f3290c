export {
  type CreateFactoryCommand,
  FactoriesService,
  type FactoryRejection,
  manageRejection,
  type SearchFactoriesQuery,
} from './application/factories.service.js';
export { FactoryQuota } from './persistence/factory-quota.js';
export { FactoriesModule } from './factories.module.js';
export { FACTORY, inFactory, managedFactory } from './http/managed-factory.js';
export type { Factory } from './persistence/factories.store.js';
