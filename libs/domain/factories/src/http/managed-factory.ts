import type { Caller } from '#platform/auth';
import { type ResourceWords, unwrap } from '#platform/http';
import type { FactoriesService } from '../application/factories.service.js';
import type { Factory } from '../persistence/factories.store.js';

export const FACTORY: ResourceWords = { noun: 'factory', plural: 'factories' };

/** The factory, for a caller who may manage it; throws a problem for every other caller. */
export async function managedFactory(factories: FactoriesService, caller: Caller, uid: string): Promise<Factory> {
  return unwrap(await factories.getManaged(caller, uid), FACTORY).factory;
}
