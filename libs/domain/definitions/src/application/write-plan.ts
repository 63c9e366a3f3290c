import { Injectable } from '@nestjs/common';
import { UpdateFactory } from '#domain/factories';
import type { Queryable } from '#platform/persistence';
import type { PrincipalRef } from '#domain/runs';
import { canonicalJson } from '#platform/kernel';
import type { DefinitionFile, PlanEntry } from '../domain/definition.js';
import { desiredFingerprints } from '../domain/plan.js';
import type { AppliedDefinition } from '../domain/present-state.js';
import { DefinitionsStore } from '../persistence/definitions.store.js';
import type { Applying } from './applying.js';
import { aliasTaken } from './factory-rules.js';
import { RefusedError } from './refused-error.js';
import { WriteAgents } from './write-agents.js';
import { WriteAutomations } from './write-automations.js';
import { WriteWebhooks } from './write-webhooks.js';

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
