import { Injectable } from '@nestjs/common';
import { type Caller, can, roleIn } from '#libs/auth';
import { type Factory, FindFactory } from '#libs/factories';

export type FactoryLookup =
  | { readonly kind: 'found'; readonly factory: Factory }
  /** Another team's is like one that never was. */
  | { readonly kind: 'unknown_factory' }
  /** For members whose role does not suffice. */
  | { readonly kind: 'forbidden' };

/** Everything of automations is for those who may manage the factory. */
@Injectable()
export class AutomationAccess {
  constructor(private readonly factories: FindFactory) {}

  async factory({ principal }: Caller, factoryUid: string): Promise<FactoryLookup> {
    const factory = await this.factories.execute(factoryUid);
    const role = factory && roleIn(principal, factory.teamUid);
    if (!factory || !role) return { kind: 'unknown_factory' };
    return can(role, 'factories:manage') ? { kind: 'found', factory } : { kind: 'forbidden' };
  }
}
