import { Injectable } from '@nestjs/common';
import { DefinedIdentities } from '#domain/agents';
import type { Queryable } from '#platform/persistence';
import type { PlanAction } from '../domain/definition.js';
import type { Applying } from './applying.js';
import { limitReached } from './limit-rules.js';
import { RefusedError } from './refused-error.js';

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
