import { Injectable } from '@nestjs/common';
import { DefinedIdentities } from '#domain/agents';
import { UpdateFactory } from '#domain/factories';
import type { Queryable } from '#platform/persistence';
import type { Diagnostic } from '../domain/definition.js';
import { identityWith } from '../domain/desired-state.js';
import { type Applying, diagnosticAt } from './applying.js';
import { defaultsDiagnostic } from './setting-places.js';

/** What of `factory.yaml` depends on what there is. */
@Injectable()
export class FactoryRules {
  constructor(
    private readonly factories: UpdateFactory,
    private readonly identities: DefinedIdentities,
  ) {}

  async check(tx: Queryable, applying: Applying): Promise<Diagnostic[]> {
    if (applying.plan.every(({ kind, action }) => kind !== 'factory' || action === 'unchanged')) return [];
    const { factory, definition, present } = applying;
    const { alias, name, agentDefaults } = definition.factory;
    const diagnostics: Diagnostic[] = [];
    if (alias !== null && alias !== present.factory.alias && (await this.factories.aliasHolder(tx, factory, alias)))
      diagnostics.push(aliasTaken(applying));
    const [issues = []] = await this.identities.validate(tx, factory.teamUid, [identityWith(name, agentDefaults)]);
    const ofSettings = issues.filter(({ pointer }) => pointer !== '/name');
    return [
      ...diagnostics,
      ...ofSettings.map(({ pointer, detail }) =>
        defaultsDiagnostic(applying, pointer.replace('/baseModel', '/model'), detail),
      ),
    ];
  }
}

export const aliasTaken = (applying: Applying): Diagnostic =>
  diagnosticAt(
    applying,
    { kind: 'factory', name: '', pointer: '/alias' },
    'alias_taken',
    'Another factory of the team has this `alias`.',
  );
