import type { Caller } from '#platform/auth';
import { notFound, type ResourceWords, unwrap } from '#platform/http';
import { FOREIGN_KEY_VIOLATION, sqlState } from '#platform/persistence';
import type { FactoriesService } from '../application/factories.service.js';
import type { Factory } from '../persistence/factories.store.js';

export const FACTORY: ResourceWords = { noun: 'factory', plural: 'factories' };

/** The factory, for a caller who may manage it; throws a problem for every other caller. */
export async function managedFactory(factories: FactoriesService, caller: Caller, uid: string): Promise<Factory> {
  return unwrap(await factories.getManaged(caller, uid), FACTORY).factory;
}

/** For operations that create something in a factory: it may be deleted after {@link managedFactory} has found it. */
export async function inFactory<T>(create: () => Promise<T>): Promise<T> {
  try {
    return await create();
  } catch (error) {
    if (sqlState(error) === FOREIGN_KEY_VIOLATION) throw notFound(FACTORY.noun);
    throw error;
  }
}
