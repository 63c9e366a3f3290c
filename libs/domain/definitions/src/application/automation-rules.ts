import { Injectable } from '@nestjs/common';
import { type AutomationFields, DefinedAutomations } from '#domain/automations';
import type { Queryable } from '#platform/persistence';
import type { Diagnostic } from '../domain/definition.js';
import { type Applying, diagnosticAt, sentence, touched } from './applying.js';
import { settingDiagnostic } from './setting-places.js';
import { webhookReferenceFaults } from './webhook-references.js';

/** Where a field of the wire's `agent_config` stands in a file. */
const SETTINGS: readonly (readonly [RegExp, string])[] = [
  [/^\/agent_config\/model_id/, '/model'],
  [/^\/agent_config\/environment_id/, '/environmentId'],
  [/^\/agent_config\/worker_host/, '/workerHost'],
  [/^\/agent_config\/harness.*/, '/harness'],
  [/^\/agent_config\/mcp_servers/, '/mcpServers'],
  [/^\/agent_config.*/, ''],
  [/^\/agent_identity_uid/, '/agent'],
];

/** What of automations' files depends on what there is. What is unchanged was checked when it was applied. */
@Injectable()
export class AutomationRules {
  constructor(private readonly automations: DefinedAutomations) {}

  async check(tx: Queryable, applying: Applying): Promise<Diagnostic[]> {
    const ofWebhooks = webhookReferenceFaults(applying);
    const places = new Set(ofWebhooks.map(placeOf));
    const others = (await this.issues(tx, applying)).filter((diagnostic) => !places.has(placeOf(diagnostic)));
    return [...ofWebhooks, ...others];
  }

  private async issues(tx: Queryable, applying: Applying): Promise<Diagnostic[]> {
    const { factory, desired, present } = applying;
    // The agent is one of the definition, so it will be there, whatever its identity is now.
    const fields = touched(applying, 'automation').flatMap((name): AutomationFields[] => {
      const wanted = desired.automations.get(name);
      return wanted ? [{ ...wanted.fields, agentIdentityUid: null }] : [];
    });
    const scope = { factoryUid: factory.uid, teamUid: factory.teamUid };
    const stored = new Map(present.automations.map((automation) => [automation.name, automation]));
    const kept = fields.map(({ name }) => stored.get(name));
    const found = await this.automations.validate(tx, scope, fields, kept);
    return fields.flatMap(({ name }, place) =>
      (found[place] ?? []).map(({ pointer, detail }) => automationDiagnostic(applying, name, pointer, detail)),
    );
  }
}

const placeOf = ({ path, line, column }: Diagnostic): string => `${path}:${line}:${column}`;

function automationDiagnostic(applying: Applying, name: string, wirePointer: string, detail: string): Diagnostic {
  const kind = 'automation';
  const pointer = SETTINGS.reduce((found, [wire, inFile]) => found.replace(wire, inFile), wirePointer);
  if (pointer === '/name')
    return diagnosticAt(applying, { kind, name, pointer: '/name' }, 'invalid_name', sentence('/name', detail));
  if (wirePointer.startsWith('/agent_config') && pointer !== '')
    return settingDiagnostic(
      applying,
      { kind, name, pointer },
      applying.definition.automations.get(name) ?? {},
      detail,
    );
  return diagnosticAt(applying, { kind, name, pointer }, codeOf(pointer), sentence(pointer, detail));
}

function codeOf(pointer: string): string {
  if (/^\/triggers\/\d+\/filter\/webhook_ids/.test(pointer)) return 'unknown_webhook';
  if (/^\/triggers\/\d+\/filter\/payload/.test(pointer)) return 'invalid_payload_filter';
  return pointer.startsWith('/triggers') ? 'invalid_trigger' : 'invalid_value';
}
