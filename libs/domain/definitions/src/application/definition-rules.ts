import { Injectable } from '@nestjs/common';
import { DefinedIdentities } from '#domain/agents';
import { type AutomationFields, DefinedAutomations, type Trigger } from '#domain/automations';
import { UpdateFactory } from '#domain/factories';
import { DefinedWebhooks, MAX_WEBHOOKS_PER_FACTORY, type WebhookSettings } from '#domain/webhooks';
import type { Queryable } from '#platform/persistence';
import { type Applying, defaultsDiagnostic, diagnosticAt, sentence, settingDiagnostic, touched } from './applying.js';
import { checkWebhookIds } from '../domain/check-webhook-ids.js';
import type { Diagnostic, ResourceKind } from '../domain/definition.js';
import { identityWith } from '../domain/desired-state.js';

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

const CODES: Readonly<Record<keyof WebhookSettings, string>> = {
  name: 'invalid_name',
  authMode: 'invalid_value',
  signatureScheme: 'unknown_signature_scheme',
  secretName: 'unusable_secret',
  deliveryIdHeader: 'invalid_header',
  enabled: 'invalid_value',
};

/** What of webhooks' files depends on what there is. What is unchanged was checked when it was applied. */
@Injectable()
export class WebhookRules {
  constructor(private readonly webhooks: DefinedWebhooks) {}

  async check(tx: Queryable, applying: Applying): Promise<Diagnostic[]> {
    const specs = touched(applying, 'webhook').flatMap((name) => applying.desired.webhooks.get(name) ?? []);
    const found = await this.webhooks.validate(tx, applying.factory, specs);
    const issues = specs.flatMap(({ name }, place) =>
      (found[place] ?? []).map(({ field, detail }) => {
        const pointer = `/${field}`;
        return diagnosticAt(applying, { kind: 'webhook', name, pointer }, CODES[field], sentence(pointer, detail));
      }),
    );
    return [...issues, ...takenNames(applying)];
  }
}

/** By webhooks of the API, which definitions leave alone. One that came later holds up nothing that is there already. */
function takenNames(applying: Applying): Diagnostic[] {
  const ofApi = new Map(
    applying.present.webhooks.filter(({ source }) => source === 'api').map(({ name, uid }) => [name, uid]),
  );
  return applying.plan
    .filter(({ kind, action, name }) => kind === 'webhook' && action === 'create' && ofApi.has(name))
    .map(({ name }) =>
      diagnosticAt(
        applying,
        { kind: 'webhook', name, pointer: '/name' },
        'name_taken',
        `The factory has a webhook ${name} that was made through the API (${ofApi.get(name) ?? ''}): delete or rename one of the two.`,
      ),
    );
}

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

/** Webhooks that triggers call by their names, and those that are selected though their files are gone. */
export const webhookReferenceFaults = (applying: Applying): Diagnostic[] => [
  ...calledByName(applying),
  ...deletedWebhooks(applying),
];

/** Of webhooks of one name, it is the one that files define. */
function calledByName({ definition, places, present }: Applying): Diagnostic[] {
  const of = (source: string): [string, string][] =>
    present.webhooks.filter((webhook) => webhook.source === source).map(({ name, uid }) => [name, uid]);
  return checkWebhookIds(definition, places, new Map([...of('api'), ...of('definition')]));
}

/** Whose file is gone, while automations still select them. */
function deletedWebhooks(applying: Applying): Diagnostic[] {
  const { plan, desired } = applying;
  const deleted = new Map(
    plan.flatMap(({ kind, action, uid, name }) =>
      kind === 'webhook' && action === 'delete' && uid !== null ? [[uid, name]] : [],
    ),
  );
  return [...desired.automations].flatMap(([name, { fields }]) =>
    fields.triggers.flatMap((trigger, index) => {
      const uid = webhookUidOf(trigger);
      const webhook = deleted.get(uid ?? '');
      if (webhook === undefined) return [];
      const pointer = `/triggers/${index}/filter/webhook_ids/0`;
      const message = sentence(pointer, `is the webhook ${webhook}, which has no file any more and would be deleted`);
      return [diagnosticAt(applying, { kind: 'automation', name, pointer }, 'unknown_webhook', message)];
    }),
  );
}

function webhookUidOf({ filter }: Trigger): string | undefined {
  if (typeof filter !== 'object' || filter === null || !('webhook_ids' in filter)) return undefined;
  const ids: readonly unknown[] = Array.isArray(filter.webhook_ids) ? filter.webhook_ids : [];
  const [uid] = ids;
  return typeof uid === 'string' ? uid : undefined;
}
