import type { Caller } from '#platform/auth';
import { notFound, type ProblemError, unwrap } from '#platform/http';
import type { FactoryAccess } from '../application/factory-access.js';
import type { Factory } from '../application/factory.js';

/** The factory, for a caller who may manage it; throws a problem for every other caller. */
export async function managedFactory(access: FactoryAccess, caller: Caller, factoryUid: string): Promise<Factory> {
  return unwrap(await access.find(caller, factoryUid), { noun: 'factory', plural: 'factories' }).factory;
}

export const unknownFactory = (): ProblemError => notFound('factory');
