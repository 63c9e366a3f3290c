import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import { FactoriesStore } from '../persistence/factories.store.js';
import type { Factory, FactoryFields } from './factory.js';

export type UpdateFactoryResult =
  { readonly kind: 'updated'; readonly factory: Factory } | { readonly kind: 'alias_taken' };

/** Changes a factory within the caller's transaction, which has locked it (`LockFactory`). */
@Injectable()
export class UpdateFactory {
  constructor(private readonly store: FactoriesStore) {}

  /** After `alias_taken` nothing is changed, and the transaction can continue. */
  async execute(tx: Queryable, uid: string, fields: FactoryFields): Promise<UpdateFactoryResult> {
    const updated = await this.store.update(tx, uid, fields);
    return updated === 'alias_taken' ? { kind: 'alias_taken' } : { kind: 'updated', factory: updated };
  }

  /** The other factory of the team that has this alias, if there is one: to tell it before anything is changed. */
  async aliasHolder(tx: Queryable, { uid, teamUid }: Factory, alias: string): Promise<Factory | null> {
    const holder = await this.store.findByAlias(tx, teamUid, alias);
    return holder?.uid === uid ? null : holder;
  }
}
