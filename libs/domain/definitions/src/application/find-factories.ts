import { Injectable } from '@nestjs/common';
import { type Factory, FindFactory, SearchFactories, type SearchFactoriesQuery } from '#domain/factories';
import { type Caller, can, roleIn } from '#platform/auth';
import { FactoryAgentsStore } from '../persistence/definitions.store.js';

/** A factory for those who look for one to give work to. */
export interface DiscoveredFactory extends Factory {
  /** Uid of the identity that gets what is dispatched; null: the factory has no foreman. */
  readonly foremanUid: string | null;
}

export type FactoriesPage =
  | { readonly kind: 'page'; readonly factories: readonly DiscoveredFactory[]; readonly nextCursor: string | null }
  | { readonly kind: 'bad_cursor' };

/** Factories of the caller's teams. */
@Injectable()
export class FindFactories {
  constructor(
    private readonly factories: FindFactory,
    private readonly search: SearchFactories,
    private readonly agents: FactoryAgentsStore,
  ) {}

  /** By name. */
  async list(caller: Caller, query: SearchFactoriesQuery): Promise<FactoriesPage> {
    const found = await this.search.execute(caller, query);
    if (found.kind === 'bad_cursor') return found;
    const { factories, nextCursor } = found;
    const foremen = await this.agents.named(
      FOREMAN,
      factories.map(({ uid }) => uid),
    );
    return {
      kind: 'page',
      factories: factories.map((factory) => ({ ...factory, foremanUid: foremen.get(factory.uid) ?? null })),
      nextCursor,
    };
  }

  /** Null for another team's like for one that never was. */
  async find({ principal }: Caller, uid: string): Promise<DiscoveredFactory | null> {
    const factory = await this.factories.execute(uid);
    const role = factory && roleIn(principal, factory.teamUid);
    if (!factory || !role || !can(role, 'factories:read')) return null;
    const foremen = await this.agents.named(FOREMAN, [uid]);
    return { ...factory, foremanUid: foremen.get(uid) ?? null };
  }
}

/** The agent of a factory that gets what is dispatched to it. */
export const FOREMAN = 'foreman';
/** What works where no other harness is asked for. */
export const BUILT_IN_HARNESS = 'oz';
