import type { Caller } from '#platform/auth';
import { forbidden, notFound, type ProblemError } from '#platform/http';
import type { FactoryAccess } from '../application/factory-access.js';
import type { Factory } from '../application/factory.js';

/** The factory, for a caller who may manage it; throws a problem for every other caller. */
export async function managedFactory(access: FactoryAccess, caller: Caller, factoryUid: string): Promise<Factory> {
  const lookup = await access.find(caller, factoryUid);
  switch (lookup.kind) {
    case 'found':
      return lookup.factory;
    case 'unknown':
      throw unknownFactory();
    case 'forbidden':
      throw forbidden('factory');
  }
}

export const unknownFactory = (): ProblemError => notFound('factory');
