import type { Caller } from '#platform/auth';
import { ProblemError } from '#platform/http';
import type { FactoryAccess } from '../application/factory-access.js';
import type { Factory } from '../application/factory.js';

/** The factory, for those who manage it; throws a problem for everybody else. */
export async function managedFactory(access: FactoryAccess, caller: Caller, factoryUid: string): Promise<Factory> {
  const lookup = await access.find(caller, factoryUid);
  switch (lookup.kind) {
    case 'found':
      return lookup.factory;
    case 'unknown':
      throw unknownFactory();
    case 'forbidden':
      throw new ProblemError('not_authorized', 'Your role on the factory’s team does not allow to manage the factory.');
  }
}

export const unknownFactory = (): ProblemError => new ProblemError('resource_not_found', 'Factory not found.');
