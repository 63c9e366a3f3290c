import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import type { PrincipalRef } from '#domain/runs';
import type { RequestedAutomation } from '../domain/requested-automation.js';
import { AutomationChecks } from './automation-checks.js';
import type { CreateAutomationResult } from './automation-outcomes.js';
import { AutomationWrites } from './automation-writes.js';
import { FindAutomations } from './find-automations.js';
import type { TriggerScope } from './trigger-provider.js';

/** Makes an automation of a factory. Events that come after the commit find it. */
@Injectable()
export class CreateAutomation {
  constructor(
    private readonly database: Database,
    private readonly checks: AutomationChecks,
    private readonly writes: AutomationWrites,
    private readonly find: FindAutomations,
  ) {}

  async execute(
    scope: TriggerScope,
    author: PrincipalRef,
    asked: RequestedAutomation,
  ): Promise<CreateAutomationResult> {
    const checked = await this.checks.check(this.database, scope, asked);
    if (checked.kind === 'invalid') return checked;
    const made = await this.database.transaction((tx) =>
      this.writes.create(tx, scope, { author, source: 'api' }, checked.fields),
    );
    if (made.kind !== 'created') return made;
    const found = await this.find.find(scope, made.uid);
    if (found.kind === 'unknown') throw new Error('The automation was deleted as soon as it was made.');
    return { kind: 'created', view: found.view };
  }
}
