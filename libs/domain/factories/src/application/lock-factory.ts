import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import { FactoriesStore } from '../persistence/factories.store.js';
import type { Factory } from './factory.js';

/** A factory as it is, for the caller's transaction to change: others who lock it wait for its end. */
@Injectable()
export class LockFactory {
  constructor(private readonly store: FactoriesStore) {}

  execute(tx: Queryable, uid: string): Promise<Factory | null> {
    return this.store.lock(tx, uid);
  }
}
