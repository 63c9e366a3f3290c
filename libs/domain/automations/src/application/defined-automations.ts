import { Injectable } from '@nestjs/common';
import type { Issue, RejectionOf } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { maskConfig, type PrincipalRef } from '#domain/runs';
import { type Automation, type AutomationFields } from '../domain/automation.js';
import { AUTOMATION_QUOTA, AutomationsStore } from '../persistence/automations.store.js';
import { AutomationChecks, type KeptFields } from './automation-checks.js';
import { AutomationWrites } from './automation-writes.js';
import type { TriggerScope } from './trigger-provider.js';

const UNKNOWN_CREDENTIALS = 'The automation of a definition keeps credentials that do not exist.';

/** Automations of a factory definition, within the transaction of the caller, who also checks the permission. */
@Injectable()
export class DefinedAutomations {
  constructor(
    private readonly store: AutomationsStore,
    private readonly checks: AutomationChecks,
    private readonly writes: AutomationWrites,
  ) {}

  /** Until the transaction ends no other one creates, changes or deletes an automation of the factory. Not needed for reading. */
  async lock(tx: Queryable, factoryUid: string): Promise<void> {
    await AUTOMATION_QUOTA.lock(tx, factoryUid);
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

  /** Names of all automations of the factory, including those of the API. */
  names(tx: Queryable, factoryUid: string): Promise<string[]> {
    return this.store.names(tx, factoryUid);
  }

  /** How many more automations the factory may have, including those of the API. */
  remainingQuota(tx: Queryable, factoryUid: string): Promise<number> {
    return AUTOMATION_QUOTA.remaining(tx, factoryUid);
  }

  /** The issues of each, with pointers into the automation as on the wire. `kept`: the previous fields of each. */
  async validate(
    tx: Queryable,
    scope: TriggerScope,
    fields: readonly AutomationFields[],
    kept: readonly (KeptFields | undefined)[] = [],
  ): Promise<readonly (readonly Issue[])[]> {
    const issues: (readonly Issue[])[] = [];
    for (const [place, one] of fields.entries()) {
      const checked = await this.checks.check(tx, scope, one, kept[place]);
      issues.push(checked.kind === 'valid' ? [] : checked.issues);
    }
    return issues;
  }

  /** `fields` must be valid. */
  async create(
    tx: Queryable,
    scope: TriggerScope,
    author: PrincipalRef,
    fields: AutomationFields,
  ): Promise<{ readonly kind: 'created'; readonly uid: string } | RejectionOf<'limit_reached'>> {
    const made = await this.writes.create(tx, scope, 'definition', author, fields);
    if (made.kind === 'invalid') throw new Error(UNKNOWN_CREDENTIALS);
    return made;
  }

  /** For an automation that {@link list} has returned in this transaction. `fields` must be valid. */
  async replace(
    tx: Queryable,
    scope: TriggerScope,
    author: PrincipalRef,
    uid: string,
    fields: AutomationFields,
  ): Promise<void> {
    const stored = await this.store.lock(tx, scope.factoryUid, uid);
    if (stored?.source !== 'definition') throw new Error(`The definition has no automation ${uid}.`);
    const change = await this.writes.replace(tx, stored, author, fields);
    if (change.kind === 'invalid') throw new Error(UNKNOWN_CREDENTIALS);
  }

  /** For an automation that {@link list} has returned in this transaction. */
  async delete(tx: Queryable, { factoryUid }: TriggerScope, uid: string): Promise<void> {
    if (!(await this.writes.delete(tx, factoryUid, uid))) throw new Error(`Automation ${uid} not found.`);
  }
}
