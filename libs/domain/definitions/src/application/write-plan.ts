import { Injectable } from '@nestjs/common';
import { DefinedIdentities } from '#domain/agents';
import { type AutomationFields, DefinedAutomations } from '#domain/automations';
import { UpdateFactory } from '#domain/factories';
import type { PrincipalRef } from '#domain/runs';
import { DefinedWebhooks } from '#domain/webhooks';
import { canonicalJson } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { type Applying, RefusedError } from './applying.js';
import { aliasTaken, limitReached } from './definition-rules.js';
import type { DefinitionFile, PlanAction, PlanEntry } from '../domain/definition.js';
import { desiredFingerprints } from '../domain/plan.js';
import type { AppliedDefinition } from '../domain/present-state.js';
import { DefinitionsStore } from '../persistence/definitions.store.js';

/** Makes what a plan says; throws {@link RefusedError} where that turns out not to be possible. */
@Injectable()
export class WritePlan {
  constructor(
    private readonly factories: UpdateFactory,
    private readonly webhooks: WriteWebhooks,
    private readonly agents: WriteAgents,
    private readonly automations: WriteAutomations,
    private readonly store: DefinitionsStore,
  ) {}

  /** The plan with the uids of what was made. What is as it was applied is not written at all. */
  async execute(
    tx: Queryable,
    applying: Applying,
    author: PrincipalRef,
    files: readonly DefinitionFile[],
  ): Promise<PlanEntry[]> {
    await this.writeFactory(tx, applying);
    const webhookUids = await this.webhooks.execute(tx, applying);
    const agentUids = await this.agents.execute(tx, applying);
    const automationUids = await this.automations.execute(tx, applying, author, agentUids);
    const applied: AppliedDefinition = {
      agentDefaults: applying.definition.factory.agentDefaults,
      files: [...files].sort((one, other) => (one.path < other.path ? -1 : 1)),
      agents: agentUids,
      fingerprints: desiredFingerprints(applying.desired),
    };
    if (contents(applied) !== contents(applying.present.applied))
      await this.store.save(tx, applying.factory.uid, author, applied);
    const made = { webhook: webhookUids, agent: agentUids, automation: automationUids };
    return applying.plan.map((entry) =>
      entry.kind === 'factory' || entry.kind === 'skill'
        ? entry
        : { ...entry, uid: entry.uid ?? made[entry.kind].get(entry.name) ?? null },
    );
  }

  private async writeFactory(tx: Queryable, applying: Applying): Promise<void> {
    const { name, description, alias } = applying.definition.factory;
    const { factory } = applying;
    if (name === factory.name && description === factory.description && alias === factory.alias) return;
    const result = await this.factories.execute(tx, factory.uid, { name, description, alias });
    if (result.kind === 'alias_taken') throw new RefusedError([aliasTaken(applying)]);
  }
}

const contents = ({ agentDefaults, files, agents, fingerprints }: AppliedDefinition): string =>
  canonicalJson([agentDefaults, files, Object.fromEntries(agents), Object.fromEntries(fingerprints)]);

@Injectable()
export class WriteWebhooks {
  constructor(private readonly webhooks: DefinedWebhooks) {}

  /** Deletes before it creates, because of the limit. Returns the uids of the created webhooks, by name. */
  async execute(tx: Queryable, applying: Applying): Promise<ReadonlyMap<string, string>> {
    const { factory, desired, plan } = applying;
    const of = (action: PlanAction) => plan.filter((entry) => entry.kind === 'webhook' && entry.action === action);
    for (const { uid } of of('delete')) if (uid !== null) await this.webhooks.delete(tx, factory, uid);
    for (const { name, uid } of of('update')) {
      const spec = desired.webhooks.get(name);
      if (spec && uid !== null) await this.webhooks.replace(tx, factory, uid, spec);
    }
    const made = new Map<string, string>();
    for (const { name } of of('create')) {
      const spec = desired.webhooks.get(name);
      if (!spec) continue;
      const result = await this.webhooks.create(tx, factory, spec);
      if (result.kind === 'limit_reached') throw new RefusedError([limitReached(applying, 'webhook', name)]);
      made.set(name, result.uid);
    }
    return made;
  }
}

@Injectable()
export class WriteAgents {
  constructor(private readonly identities: DefinedIdentities) {}

  /** Returns the identities of all agents of the definition, by their names. */
  async execute(tx: Queryable, applying: Applying): Promise<ReadonlyMap<string, string>> {
    const { factory, desired, plan } = applying;
    const of = (...actions: PlanAction[]) =>
      plan.filter((entry) => entry.kind === 'agent' && actions.includes(entry.action));
    for (const { uid } of of('delete')) if (uid !== null) await this.identities.remove(tx, uid);
    const changed = of('update').flatMap(({ name, uid }) => {
      const fields = desired.agents.get(name);
      return fields && uid !== null ? [{ ...fields, uid }] : [];
    });
    if (changed.length > 0) await this.identities.replaceAll(tx, factory.teamUid, changed);
    const uids = new Map(of('update', 'unchanged').flatMap(({ name, uid }) => (uid === null ? [] : [[name, uid]])));
    for (const { name } of of('create')) {
      const fields = desired.agents.get(name);
      if (!fields) continue;
      const result = await this.identities.create(tx, { teamUid: factory.teamUid, factoryUid: factory.uid }, fields);
      if (result.kind === 'limit_reached') throw new RefusedError([limitReached(applying, 'agent', name)]);
      uids.set(name, result.uid);
    }
    return uids;
  }
}

@Injectable()
export class WriteAutomations {
  constructor(private readonly automations: DefinedAutomations) {}

  /** `agents`: identities by the names of agents. Returns the uids of what was made, by name. */
  async execute(
    tx: Queryable,
    applying: Applying,
    author: PrincipalRef,
    agents: ReadonlyMap<string, string>,
  ): Promise<ReadonlyMap<string, string>> {
    const { factory, plan } = applying;
    const scope = { factoryUid: factory.uid, teamUid: factory.teamUid };
    const of = (action: PlanAction) => plan.filter((entry) => entry.kind === 'automation' && entry.action === action);
    for (const { uid } of of('delete')) if (uid !== null) await this.automations.delete(tx, scope, uid);
    for (const { name, uid } of of('update'))
      if (uid !== null) await this.automations.replace(tx, scope, author, uid, fieldsOf(applying, name, agents));
    const made = new Map<string, string>();
    for (const { name } of of('create')) {
      const result = await this.automations.create(tx, scope, author, fieldsOf(applying, name, agents));
      if (result.kind === 'limit_reached') throw new RefusedError([limitReached(applying, 'automation', name)]);
      made.set(name, result.uid);
    }
    return made;
  }
}

function fieldsOf({ desired }: Applying, name: string, agents: ReadonlyMap<string, string>): AutomationFields {
  const wanted = desired.automations.get(name);
  if (!wanted) throw new Error(`The definition has no automation ${name}.`);
  const agentIdentityUid = wanted.agent === null ? null : agents.get(wanted.agent);
  if (agentIdentityUid === undefined) throw new Error(`The definition has no agent ${wanted.agent ?? ''}.`);
  return { ...wanted.fields, agentIdentityUid };
}
