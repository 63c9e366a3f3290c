import { Injectable } from '@nestjs/common';
import { type Caller, can, roleIn } from '#platform/auth';
import type { Factory } from './factory.js';
import { FindFactory } from './find-factory.js';

/** Another team's is `unknown` like one that never was; `forbidden` is for members whose role does not suffice. */
export type FactoryRefusal = { readonly kind: 'unknown' } | { readonly kind: 'forbidden' };
export type FactoryLookup = { readonly kind: 'found'; readonly factory: Factory } | FactoryRefusal;

/** Factories through the permission to manage them. One round trip. */
@Injectable()
export class FactoryAccess {
  constructor(private readonly factories: FindFactory) {}

  async find(caller: Caller, factoryUid: string): Promise<FactoryLookup> {
    const factory = await this.factories.execute(factoryUid);
    if (!factory) return { kind: 'unknown' };
    return refusalToManage(caller, factory.teamUid) ?? { kind: 'found', factory };
  }
}

/** Why the caller may not manage what belongs to a factory of this team; null when they may. */
export function refusalToManage({ principal }: Caller, teamUid: string): FactoryRefusal | null {
  const role = roleIn(principal, teamUid);
  if (role === null) return { kind: 'unknown' };
  return can(role, 'factories:manage') ? null : { kind: 'forbidden' };
}
