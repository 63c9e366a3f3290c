import { Injectable } from '@nestjs/common';
import { DefinedIdentities } from '#domain/agents';
import { DefinedAutomations } from '#domain/automations';
import type { Queryable } from '#platform/persistence';
import { MAX_WEBHOOKS_PER_FACTORY } from '#domain/webhooks';
import type { Diagnostic, ResourceKind } from '../domain/definition.js';
import { type Applying, diagnosticAt } from './applying.js';

/** How many there may be, with those of the API. */
@Injectable()
export class LimitRules {
  constructor(
    private readonly automations: DefinedAutomations,
    private readonly identities: DefinedIdentities,
  ) {}

  async check(tx: Queryable, applying: Applying): Promise<Diagnostic[]> {
    const { factory, present } = applying;
    return [
      ...tooMany(applying, 'webhook', MAX_WEBHOOKS_PER_FACTORY - present.webhooks.length),
      ...tooMany(applying, 'agent', await this.identities.places(tx, factory.teamUid)),
      ...tooMany(applying, 'automation', await this.automations.remainingQuota(tx, factory.uid)),
    ];
  }
}

/** At those that find no place, the last by name. `places`: free ones now. */
function tooMany(applying: Applying, kind: ResourceKind, places: number): Diagnostic[] {
  const of = (action: string): string[] =>
    applying.plan.filter((entry) => entry.kind === kind && entry.action === action).map(({ name }) => name);
  return of('create')
    .slice(Math.max(0, places + of('delete').length))
    .map((name) => limitReached(applying, kind, name));
}

export const limitReached = (applying: Applying, kind: ResourceKind, name: string): Diagnostic =>
  diagnosticAt(
    applying,
    { kind, name, pointer: '/name' },
    'limit_reached',
    `There is no place for another ${kind}: the ${kind === 'agent' ? 'team' : 'factory'} has as many as it may have.`,
  );
