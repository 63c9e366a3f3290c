import { Injectable } from '@nestjs/common';
import { DefinedIdentities } from '#domain/agents';
import { DefinedAutomations } from '#domain/automations';
import { FactoriesService, type Factory, type FactoryRejection, manageRejection } from '#domain/factories';
import { DefinedWebhooks } from '#domain/webhooks';
import type { Caller } from '#platform/auth';
import { Database, FOREIGN_KEY_VIOLATION, type Queryable, sqlState } from '#platform/persistence';
import { DefinitionsStore } from '../persistence/definitions.store.js';

/** Omitted fields keep their values; an alias of null is removed. */
export type FactoryChanges = Partial<Pick<Factory, 'name' | 'description' | 'alias'>>;

/** What belongs to a factory and must be deleted before it. */
export interface FactoryContents {
  readonly webhooks: readonly string[];
  readonly automations: readonly string[];
  readonly agents: readonly string[];
}

type UpdateFactoryResult =
  | { readonly kind: 'updated'; readonly factory: Factory }
  | { readonly kind: 'alias_taken' }
  | FactoryRejection;

type DeleteFactoryResult =
  | { readonly kind: 'deleted' }
  | { readonly kind: 'not_empty'; readonly contents: FactoryContents }
  /** A table of a plugin has a row that refers to it. */
  | { readonly kind: 'referenced' }
  | FactoryRejection;

@Injectable()
export class ManageFactories {
  constructor(
    private readonly database: Database,
    private readonly factories: FactoriesService,
    private readonly webhooks: DefinedWebhooks,
    private readonly automations: DefinedAutomations,
    private readonly identities: DefinedIdentities,
    private readonly definitions: DefinitionsStore,
  ) {}

  async update(caller: Caller, uid: string, changes: FactoryChanges): Promise<UpdateFactoryResult> {
    return this.database.transaction(async (tx): Promise<UpdateFactoryResult> => {
      const factory = await this.factories.lock(tx, uid);
      if (!factory) return { kind: 'not_found' };
      const rejection = manageRejection(caller, factory.teamUid);
      if (rejection) return rejection;
      const { name, description, alias } = { ...factory, ...changes };
      if ((await this.factories.update(tx, uid, { name, description, alias })) === 'alias_taken')
        return { kind: 'alias_taken' };
      const updated = await this.factories.lock(tx, uid);
      return updated ? { kind: 'updated', factory: updated } : { kind: 'not_found' };
    });
  }

  /** Runs keep the uid in their metadata. What was created in the factory must be deleted before. */
  async delete(caller: Caller, uid: string): Promise<DeleteFactoryResult> {
    try {
      return await this.database.transaction(async (tx): Promise<DeleteFactoryResult> => {
        const factory = await this.factories.lock(tx, uid);
        if (!factory) return { kind: 'not_found' };
        const rejection = manageRejection(caller, factory.teamUid);
        if (rejection) return rejection;
        // A creation locks its quota before it refers to the factory: in the same order, none waits for the other in a circle.
        await this.webhooks.lock(tx, factory);
        await this.automations.lock(tx, uid);
        await this.factories.lockForDelete(tx, uid);
        const contents = await this.contents(tx, factory);
        if (Object.values(contents).some((names: readonly string[]) => names.length > 0))
          return { kind: 'not_empty', contents };
        await this.factories.delete(tx, uid);
        return { kind: 'deleted' };
      });
    } catch (error) {
      if (sqlState(error) === FOREIGN_KEY_VIOLATION) return { kind: 'referenced' };
      throw error;
    }
  }

  private async contents(tx: Queryable, { uid, teamUid }: Factory): Promise<FactoryContents> {
    const agents = (await this.definitions.find(tx, uid))?.agents ?? new Map<string, string>();
    const existing = await this.identities.find(tx, teamUid, [...agents.values()], false);
    const uids = new Set(existing.map((identity) => identity.uid));
    return {
      webhooks: await this.webhooks.names(tx, uid),
      automations: await this.automations.names(tx, uid),
      agents: [...agents].flatMap(([name, identity]) => (uids.has(identity) ? [name] : [])),
    };
  }
}
