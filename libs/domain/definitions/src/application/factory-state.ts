import { Injectable } from '@nestjs/common';
import { DefinedIdentities } from '#domain/agents';
import { DefinedAutomations } from '#domain/automations';
import type { Factory } from '#domain/factories';
import type { Queryable } from '#platform/persistence';
import { DefinedWebhooks } from '#domain/webhooks';
import { NOTHING_APPLIED, type PresentAgent, type PresentState } from '../domain/present-state.js';
import { DefinitionsStore } from '../persistence/definitions.store.js';

/** The state of a factory, read from all libraries that own parts of it. */
@Injectable()
export class FactoryState {
  constructor(
    private readonly store: DefinitionsStore,
    private readonly webhooks: DefinedWebhooks,
    private readonly identities: DefinedIdentities,
    private readonly automations: DefinedAutomations,
  ) {}

  /** `held`: nobody else changes what definitions own until the transaction ends. */
  async read(tx: Queryable, factory: Factory, { held }: { readonly held: boolean }): Promise<PresentState> {
    if (held) {
      await this.webhooks.lock(tx, factory);
      await this.automations.lock(tx, factory.uid);
    }
    const applied = (await this.store.find(tx, factory.uid)) ?? NOTHING_APPLIED;
    const { name, description, alias } = factory;
    return {
      applied,
      factory: { name, description, alias, agentDefaults: applied.agentDefaults },
      webhooks: await this.webhooks.list(tx, factory),
      agents: await this.agents(tx, factory, applied.agents, held),
      automations: await this.automations.list(tx, factory.uid),
    };
  }

  private async agents(
    tx: Queryable,
    { teamUid }: Factory,
    uids: ReadonlyMap<string, string>,
    held: boolean,
  ): Promise<PresentAgent[]> {
    const found = await this.identities.find(tx, teamUid, [...uids.values()], held);
    const known = new Map(found.map((identity) => [identity.uid, identity]));
    return [...uids].flatMap(([name, uid]) => {
      const identity = known.get(uid);
      return identity ? [{ name, identity }] : [];
    });
  }
}
