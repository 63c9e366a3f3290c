import { Injectable } from '@nestjs/common';
import { DefinedIdentities } from '#domain/agents';
import type { Queryable } from '#platform/persistence';
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
    return fields.flatMap(({ name }, place) =>
      (found[place] ?? []).map(({ pointer, detail }) => agentDiagnostic(applying, name, pointer, detail)),
    );
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
