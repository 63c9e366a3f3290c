import { Injectable } from '@nestjs/common';
import { type Caller, isAllowed, roleIn } from '#platform/auth';
import type { RejectionOf } from '#platform/kernel';
import type { Factory } from './factory.js';
import { FindFactory } from './find-factory.js';

/** A factory of another team is not found; `forbidden` is for members whose role does not suffice. */
export type FactoryRejection = RejectionOf<'not_found' | 'forbidden'>;
export type FactoryLookup = { readonly kind: 'found'; readonly factory: Factory } | FactoryRejection;

/** Factories through the permission to manage them. One round trip. */
@Injectable()
export class FactoryAccess {
  constructor(private readonly factories: FindFactory) {}

  async find(caller: Caller, factoryUid: string): Promise<FactoryLookup> {
    const factory = await this.factories.execute(factoryUid);
    if (!factory) return { kind: 'not_found' };
    return manageRejection(caller, factory.teamUid) ?? { kind: 'found', factory };
  }
}

/** Why the caller may not manage what belongs to a factory of this team; null when they may. */
export function manageRejection(caller: Caller, teamUid: string): FactoryRejection | null {
  if (roleIn(caller.principal, teamUid) === null) return { kind: 'not_found' };
  return isAllowed(caller, { teamUid, userUid: null }, 'factories:manage') ? null : { kind: 'forbidden' };
}
