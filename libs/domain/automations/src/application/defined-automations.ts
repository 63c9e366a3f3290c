import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import { maskConfig, type PrincipalRef } from '#domain/runs';
import { type Automation, type AutomationFields, MAX_AUTOMATIONS } from '../domain/automation.js';
import { AutomationPlaces } from '../persistence/automation-places.js';
import { AutomationsStore } from '../persistence/automations.store.js';
import { AutomationChecks, type KeptFields } from './automation-checks.js';
import { AutomationWrites } from './automation-writes.js';
import type { TriggerScope } from './trigger-provider.js';

/**
 * Automations of a factory's definition. Everything happens within the caller's transaction; whether somebody may do it
 * is the caller's business.
 */
@Injectable()
export class DefinedAutomations {
  constructor(
    private readonly store: AutomationsStore,
    private readonly counts: AutomationPlaces,
    private readonly checks: AutomationChecks,
    private readonly writes: AutomationWrites,
  ) {}

  /** From now on nobody else makes, changes or deletes one of the factory until the transaction ends. Not needed just to look. */
  async lock(tx: Queryable, factoryUid: string): Promise<void> {
    await this.counts.lock(tx, factoryUid);
    await this.store.lockDefined(tx, factoryUid);
  }

  /** By name, with credentials masked. */
  async list(tx: Queryable, factoryUid: string): Promise<Automation[]> {
    const found = await this.store.listDefined(tx, factoryUid);
    return found.map((automation) => ({
      ...automation,
      agentConfig: automation.agentConfig && maskConfig(automation.agentConfig),
    }));
  }

  /** How many more the factory may have, with those of the API. */
  async places(tx: Queryable, factoryUid: string): Promise<number> {
    return MAX_AUTOMATIONS - (await this.counts.used(tx, factoryUid));
  }

  /** What is wrong with each, by its place. Pointers are into the automation as on the wire. `kept`: what each had before. */
  async validate(
    tx: Queryable,
    scope: TriggerScope,
    fields: readonly AutomationFields[],
    kept: readonly (KeptFields | undefined)[] = [],
  ): Promise<readonly (readonly { readonly pointer: string; readonly detail: string }[])[]> {
    const issues: { pointer: string; detail: string }[][] = [];
    for (const [place, one] of fields.entries()) {
      const checked = await this.checks.check(tx, scope, one, kept[place]);
      issues.push(checked.kind === 'valid' ? [] : checked.issues.map(({ pointer, detail }) => ({ pointer, detail })));
    }
    return issues;
  }

  /** `fields` are valid. */
  async create(
    tx: Queryable,
    scope: TriggerScope,
    author: PrincipalRef,
    fields: AutomationFields,
  ): Promise<{ readonly kind: 'created'; readonly uid: string } | { readonly kind: 'limit_reached' }> {
    const made = await this.writes.create(tx, scope, { author, source: 'definition' }, fields);
    if (made.kind === 'invalid') throw new Error('The automation of a definition keeps credentials that it never had.');
    return made.kind === 'created' ? made : { kind: 'limit_reached' };
  }

  /** Of one that {@link list} told of in this transaction. `fields` are valid. */
  async replace(
    tx: Queryable,
    scope: TriggerScope,
    author: PrincipalRef,
    uid: string,
    fields: AutomationFields,
  ): Promise<void> {
    const stored = await this.store.lock(tx, scope.factoryUid, uid);
    if (stored?.source !== 'definition') throw new Error(`There is no automation ${uid} of the definition.`);
    const change = await this.writes.replace(tx, stored, author, fields);
    if (change.kind === 'invalid') throw new Error('The automation of a definition keeps credentials that it has not.');
  }

  /** Of one that {@link list} told of in this transaction. */
  async delete(tx: Queryable, { factoryUid }: TriggerScope, uid: string): Promise<void> {
    if (!(await this.writes.delete(tx, factoryUid, uid))) throw new Error(`There is no automation ${uid}.`);
  }
}
