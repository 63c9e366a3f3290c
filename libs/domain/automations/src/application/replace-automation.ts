import { Injectable } from '@nestjs/common';
import { Database, type Queryable } from '#platform/persistence';
import type { PrincipalRef } from '#domain/runs';
import type { AutomationFields } from '../domain/automation.js';
import type { RequestedAutomation } from '../domain/requested-automation.js';
import { AutomationsStore } from '../persistence/automations.store.js';
import { AutomationChecks } from './automation-checks.js';
import type {
  InvalidAutomation,
  NameIsDefined,
  ReplaceAutomationResult,
  UnknownAutomation,
} from './automation-outcomes.js';
import { AutomationWrites } from './automation-writes.js';
import { FindAutomations } from './find-automations.js';
import type { TriggerScope } from './trigger-provider.js';

type Change = { readonly kind: 'replaced' } | UnknownAutomation | NameIsDefined | InvalidAutomation;

/** Sets all of an automation. What it had before it may keep, though what that refers to may be gone. */
@Injectable()
export class ReplaceAutomation {
  constructor(
    private readonly database: Database,
    private readonly store: AutomationsStore,
    private readonly checks: AutomationChecks,
    private readonly writes: AutomationWrites,
    private readonly find: FindAutomations,
  ) {}

  async execute(
    scope: TriggerScope,
    author: PrincipalRef,
    uid: string,
    asked: RequestedAutomation,
  ): Promise<ReplaceAutomationResult> {
    const before = await this.store.find(scope.factoryUid, uid);
    if (!before) return { kind: 'unknown' };
    const checked = await this.checks.check(this.database, scope, asked, before);
    if (checked.kind === 'invalid') return checked;
    const change = await this.database.transaction((tx) => this.change(tx, scope, author, uid, checked.fields));
    if (change.kind !== 'replaced') return change;
    const found = await this.find.find(scope, uid);
    return found.kind === 'found' ? { kind: 'replaced', view: found.view } : found;
  }

  private async change(
    tx: Queryable,
    { factoryUid }: TriggerScope,
    author: PrincipalRef,
    uid: string,
    fields: AutomationFields,
  ): Promise<Change> {
    const stored = await this.store.lock(tx, factoryUid, uid);
    if (!stored) return { kind: 'unknown' };
    if (stored.source === 'definition' && fields.name !== stored.name) return { kind: 'name_is_defined' };
    return this.writes.replace(tx, stored, author, fields);
  }
}
