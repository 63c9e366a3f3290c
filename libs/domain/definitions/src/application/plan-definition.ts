import { Injectable } from '@nestjs/common';
import type { Factory } from '#domain/factories';
import type { Queryable } from '#platform/persistence';
import type { Diagnostic, ReadDefinition } from '../domain/definition.js';
import { desiredState } from '../domain/desired-state.js';
import { sortedDiagnostics } from '../domain/diagnostics.js';
import { planDefinition } from '../domain/plan.js';
import { FACTORY_PATH } from '../domain/resource-paths.js';
import { AgentRules } from './agent-rules.js';
import type { Applying } from './applying.js';
import { AutomationRules } from './automation-rules.js';
import { FactoryRules } from './factory-rules.js';
import { FactoryState } from './factory-state.js';
import { LimitRules } from './limit-rules.js';
import { WebhookRules } from './webhook-rules.js';

export type UnderstoodDefinition = Extract<ReadDefinition, { kind: 'valid' }>;

export type Planning =
  | { readonly kind: 'planned'; readonly applying: Applying }
  | { readonly kind: 'invalid'; readonly diagnostics: readonly Diagnostic[] };

/** What an apply does, or everything that keeps it from being done. Writes nothing. */
@Injectable()
export class PlanDefinition {
  constructor(
    private readonly state: FactoryState,
    private readonly factories: FactoryRules,
    private readonly webhooks: WebhookRules,
    private readonly agents: AgentRules,
    private readonly automations: AutomationRules,
    private readonly limits: LimitRules,
  ) {}

  /** `held`: what the plan says stays true until the transaction ends. */
  async execute(
    tx: Queryable,
    factory: Factory,
    { definition, places }: UnderstoodDefinition,
    { held }: { readonly held: boolean },
  ): Promise<Planning> {
    const present = await this.state.read(tx, factory, { held });
    const desired = desiredState(definition);
    const plan = planDefinition(factory.uid, desired, present);
    const applying: Applying = { factory, definition, places, desired, present, plan };
    const found: Diagnostic[] = [];
    for (const rules of [this.factories, this.webhooks, this.agents, this.automations, this.limits])
      found.push(...(await rules.check(tx, applying)));
    const diagnostics = withoutRepeats(sortedDiagnostics(found));
    return diagnostics.length > 0 ? { kind: 'invalid', diagnostics } : { kind: 'planned', applying };
  }
}

/** A fault of the defaults shows in everything that has them, in other words. */
function withoutRepeats(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const keyOf = ({ path, line, column, code, message }: Diagnostic): string =>
    [path, line, column, code, ...(path === FACTORY_PATH ? [] : [message])].join(':');
  return [...new Map(diagnostics.map((one) => [keyOf(one), one])).values()];
}
