import { Injectable } from '@nestjs/common';
import { type AutomationFields, DefinedAutomations } from '#domain/automations';
import type { Queryable } from '#platform/persistence';
import type { PrincipalRef } from '#domain/runs';
import type { PlanAction } from '../domain/definition.js';
import type { Applying } from './applying.js';
import { limitReached } from './limit-rules.js';
import { RefusedError } from './refused-error.js';

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
