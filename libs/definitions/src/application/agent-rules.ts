import { Injectable } from '@nestjs/common';
import { DefinedIdentities } from '#libs/agents';
import type { Queryable } from '#libs/persistence';
import type { Diagnostic } from '../domain/definition.js';
import { type Applying, diagnosticAt, sentence, touched } from './applying.js';
import { settingDiagnostic } from './setting-places.js';

/** What of agents' files depends on what there is. What is unchanged was checked when it was applied. */
@Injectable()
export class AgentRules {
  constructor(private readonly identities: DefinedIdentities) {}

  async check(tx: Queryable, applying: Applying): Promise<Diagnostic[]> {
    const names = touched(applying, 'agent');
    const fields = names.flatMap((name) => applying.desired.agents.get(name) ?? []);
    const found = await this.identities.validate(tx, applying.factory.teamUid, fields);
    const issues = fields.flatMap(({ name }, place) =>
      (found[place] ?? []).map(({ pointer, detail }) => agentDiagnostic(applying, name, pointer, detail)),
    );
    return [...issues, ...(await this.takenNames(tx, applying, names))];
  }

  private async takenNames(tx: Queryable, applying: Applying, names: readonly string[]): Promise<Diagnostic[]> {
    const holders = await this.identities.findByName(tx, applying.factory.teamUid, names);
    const own = new Set(applying.present.agents.map(({ identity }) => identity.uid));
    return names.flatMap((name) => {
      const holder = holders.get(name.toLowerCase());
      return holder === undefined || own.has(holder) ? [] : [nameTaken(applying, name, holder)];
    });
  }
}

function agentDiagnostic(applying: Applying, name: string, pointer: string, detail: string): Diagnostic {
  const kind = 'agent';
  switch (pointer) {
    case '/name':
      return diagnosticAt(applying, { kind, name, pointer: '/name' }, 'invalid_name', sentence('/name', detail));
    case '/prompt':
    case '/description':
      return diagnosticAt(applying, { kind, name, pointer }, 'invalid_value', sentence(pointer, detail));
    default: {
      const at = { kind, name, pointer: pointer.replace('/baseModel', '/model') } as const;
      return settingDiagnostic(applying, at, applying.definition.agents.get(name) ?? {}, detail);
    }
  }
}

const nameTaken = (applying: Applying, name: string, holder: string): Diagnostic =>
  diagnosticAt(
    applying,
    { kind: 'agent', name, pointer: '/name' },
    'name_taken',
    `The team has an agent identity ${name} that is not of this definition (${holder}): names are unique in a team.`,
  );
