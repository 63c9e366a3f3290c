import { Injectable } from '@nestjs/common';
import { type Caller, can, roleIn } from '#libs/auth';
import { type Factory, FindFactory } from '#libs/factories';

export type ManagedFactoryLookup =
  | { readonly kind: 'found'; readonly factory: Factory }
  /** Another team's is like one that never was. */
  | { readonly kind: 'unknown' }
  /** For members whose role does not suffice. */
  | { readonly kind: 'forbidden' };

/** Definitions are for those who may manage the factory. */
@Injectable()
export class DefinitionAccess {
  constructor(private readonly factories: FindFactory) {}

  async factory({ principal }: Caller, factoryUid: string): Promise<ManagedFactoryLookup> {
    const factory = await this.factories.execute(factoryUid);
    const role = factory && roleIn(principal, factory.teamUid);
    if (!factory || !role) return { kind: 'unknown' };
    return can(role, 'factories:manage') ? { kind: 'found', factory } : { kind: 'forbidden' };
  }
}
