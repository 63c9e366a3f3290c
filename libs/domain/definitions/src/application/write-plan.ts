import { Injectable } from '@nestjs/common';
import { DefinedIdentities } from '#domain/agents';
import { type AutomationFields, DefinedAutomations } from '#domain/automations';
import { FactoriesService } from '#domain/factories';
import type { PrincipalRef } from '#domain/runs';
import { DefinedWebhooks } from '#domain/webhooks';
import { canonicalJson } from '#platform/kernel';
import type { Queryable, Transaction } from '#platform/persistence';
import type { DefinitionFile, PlanEntry, ResourceKind } from '../domain/definition.js';
import { desiredFingerprints } from '../domain/plan.js';
import type { AppliedDefinition } from '../domain/present-state.js';
import { DefinitionsStore } from '../persistence/definitions.store.js';
import { aliasTaken, type Applying, limitReached, namesOf, RefusedError, uidsOf } from './applying.js';

/** UIDs by name. */
type Uids = ReadonlyMap<string, string>;
type Created = { readonly kind: 'created'; readonly uid: string } | { readonly kind: 'limit_reached' };

/** Executes a plan. Throws {@link RefusedError} when another transaction has made it impossible. */
@Injectable()
export class WritePlan {
  constructor(
    private readonly factories: FactoriesService,
    private readonly webhooks: DefinedWebhooks,
    private readonly identities: DefinedIdentities,
    private readonly automations: DefinedAutomations,
    private readonly store: DefinitionsStore,
  ) {}

  /** Returns the plan with the UIDs of what was created. What is as it was applied is not written at all. */
  async execute(
    tx: Transaction,
    applying: Applying,
    author: PrincipalRef,
    files: readonly DefinitionFile[],
  ): Promise<PlanEntry[]> {
    await this.writeFactory(tx, applying);
    const webhook = await this.writeWebhooks(tx, applying);
    const agent = await this.writeAgents(tx, applying);
    const automation = await this.writeAutomations(tx, applying, author, agent);
    const applied: AppliedDefinition = {
      agentDefaults: applying.definition.factory.agentDefaults,
      files: [...files].sort((one, other) => (one.path < other.path ? -1 : 1)),
      agents: agent,
      fingerprints: desiredFingerprints(applying.desired),
    };
    if (contents(applied) !== contents(applying.present.applied))
      await this.store.save(tx, applying.factory.uid, author, applied);
    const created = { webhook, agent, automation };
    return applying.plan.map((entry) =>
      entry.kind === 'factory' || entry.kind === 'skill'
        ? entry
        : { ...entry, uid: entry.uid ?? created[entry.kind].get(entry.name) ?? null },
    );
  }

  private async writeFactory(tx: Queryable, applying: Applying): Promise<void> {
    const { name, description, alias } = applying.definition.factory;
    const { factory } = applying;
    if (name === factory.name && description === factory.description && alias === factory.alias) return;
    const result = await this.factories.update(tx, factory.uid, { name, description, alias });
    if (result === 'alias_taken') throw new RefusedError([aliasTaken(applying)]);
  }

  /** Deletes before it creates, because of the limit. Returns the created webhooks. */
  private async writeWebhooks(tx: Queryable, applying: Applying): Promise<Uids> {
    const { factory, desired } = applying;
    const kind = 'webhook';
    for (const uid of uidsOf(applying, kind, 'delete').values()) await this.webhooks.delete(tx, factory, uid);
    for (const [name, uid] of uidsOf(applying, kind, 'update'))
      await this.webhooks.replace(tx, factory, uid, wanted(desired.webhooks, name));
    return createAll(applying, kind, (name) => this.webhooks.create(tx, factory, wanted(desired.webhooks, name)));
  }

  /** Returns the identities of all agents of the definition. */
  private async writeAgents(tx: Transaction, applying: Applying): Promise<Uids> {
    const { uid: factoryUid, teamUid } = applying.factory;
    const { agents } = applying.desired;
    const kind = 'agent';
    for (const uid of uidsOf(applying, kind, 'delete').values()) await this.identities.remove(tx, uid);
    const changed = [...uidsOf(applying, kind, 'update')].map(([name, uid]) => ({ ...wanted(agents, name), uid }));
    if (changed.length > 0) await this.identities.replaceAll(tx, teamUid, changed);
    const created = await createAll(applying, kind, (name) =>
      this.identities.create(tx, { teamUid, factoryUid }, wanted(agents, name)),
    );
    return new Map([...uidsOf(applying, kind, 'update', 'unchanged'), ...created]);
  }

  private async writeAutomations(tx: Queryable, applying: Applying, author: PrincipalRef, agents: Uids): Promise<Uids> {
    const scope = { factoryUid: applying.factory.uid, teamUid: applying.factory.teamUid };
    const kind = 'automation';
    const fieldsOf = (name: string): AutomationFields => {
      const { agent, fields } = wanted(applying.desired.automations, name);
      return { ...fields, agentIdentityUid: agent === null ? null : wanted(agents, agent) };
    };
    for (const uid of uidsOf(applying, kind, 'delete').values()) await this.automations.delete(tx, scope, uid);
    for (const [name, uid] of uidsOf(applying, kind, 'update'))
      await this.automations.replace(tx, scope, author, uid, fieldsOf(name));
    return createAll(applying, kind, (name) => this.automations.create(tx, scope, author, fieldsOf(name)));
  }
}

async function createAll(
  applying: Applying,
  kind: ResourceKind,
  create: (name: string) => Promise<Created>,
): Promise<Uids> {
  const created = new Map<string, string>();
  for (const name of namesOf(applying, kind, 'create')) {
    const result = await create(name);
    if (result.kind === 'limit_reached') throw new RefusedError([limitReached(applying, kind, name)]);
    created.set(name, result.uid);
  }
  return created;
}

function wanted<T>(resources: ReadonlyMap<string, T>, name: string): T {
  const found = resources.get(name);
  if (found === undefined) throw new Error(`The definition has no resource ${name}.`);
  return found;
}

const contents = ({ agentDefaults, files, agents, fingerprints }: AppliedDefinition): string =>
  canonicalJson([agentDefaults, files, Object.fromEntries(agents), Object.fromEntries(fingerprints)]);
