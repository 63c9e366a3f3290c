import { Injectable } from '@nestjs/common';
import { DefinedIdentities } from '#domain/agents';
import { type AutomationFields, DefinedAutomations } from '#domain/automations';
import { FactoriesService } from '#domain/factories';
import { DefinedWebhooks, MAX_WEBHOOKS_PER_FACTORY, type WebhookSettings } from '#domain/webhooks';
import type { Queryable } from '#platform/persistence';
import { checkWebhookIds, webhookIdsOf } from '../domain/check-webhook-ids.js';
import type { Diagnostic, ResourceKind } from '../domain/definition.js';
import { identityWith } from '../domain/desired-state.js';
import { filePointer } from '../domain/reading/read-source.js';
import {
  aliasTaken,
  type Applying,
  defaultsIssueAt,
  diagnosticAt,
  issueAt,
  limitReached,
  namesOf,
  settingIssueAt,
  uidsOf,
} from './applying.js';

const WEBHOOK_CODES: Readonly<Record<keyof WebhookSettings, string>> = {
  name: 'invalid_name',
  authMode: 'invalid_value',
  signatureScheme: 'unknown_signature_scheme',
  secretName: 'unusable_secret',
  deliveryIdHeader: 'invalid_header',
  enabled: 'invalid_value',
};

/** The rules that depend on the state of the installation. What is unchanged was checked when it was applied. */
@Injectable()
export class DefinitionRules {
  constructor(
    private readonly factories: FactoriesService,
    private readonly webhooks: DefinedWebhooks,
    private readonly identities: DefinedIdentities,
    private readonly automations: DefinedAutomations,
  ) {}

  async check(tx: Queryable, applying: Applying): Promise<Diagnostic[]> {
    return [
      ...(await this.checkFactory(tx, applying)),
      ...(await this.checkWebhooks(tx, applying)),
      ...(await this.checkAgents(tx, applying)),
      ...(await this.checkAutomations(tx, applying)),
      ...(await this.checkLimits(tx, applying)),
    ];
  }

  private async checkFactory(tx: Queryable, applying: Applying): Promise<Diagnostic[]> {
    if (applying.plan.every(({ kind, action }) => kind !== 'factory' || action === 'unchanged')) return [];
    const { factory, definition, present } = applying;
    const { alias, name, agentDefaults } = definition.factory;
    const isTaken =
      alias !== null && alias !== present.factory.alias && (await this.factories.isAliasTaken(tx, factory, alias));
    const [issues = []] = await this.identities.validate(tx, factory.teamUid, [identityWith(name, agentDefaults)]);
    return [
      ...(isTaken ? [aliasTaken(applying)] : []),
      ...issues
        .filter(({ pointer }) => pointer !== '/name')
        .map(({ pointer, detail }) => defaultsIssueAt(applying, settingPointer(pointer), detail)),
    ];
  }

  private async checkWebhooks(tx: Queryable, applying: Applying): Promise<Diagnostic[]> {
    const kind = 'webhook';
    const specs = touched(applying, kind).flatMap((name) => applying.desired.webhooks.get(name) ?? []);
    const found = await this.webhooks.validate(tx, applying.factory, specs);
    const issues = specs.flatMap(({ name }, index) =>
      (found[index] ?? []).map(({ field, detail }) =>
        issueAt(applying, { kind, name, pointer: `/${field}` }, WEBHOOK_CODES[field], detail),
      ),
    );
    return [...issues, ...takenWebhookNames(applying)];
  }

  private async checkAgents(tx: Queryable, applying: Applying): Promise<Diagnostic[]> {
    const fields = touched(applying, 'agent').flatMap((name) => applying.desired.agents.get(name) ?? []);
    const found = await this.identities.validate(tx, applying.factory.teamUid, fields);
    return fields.flatMap(({ name }, index) =>
      (found[index] ?? []).map(({ pointer, detail }) => {
        const at = { kind: 'agent', name, pointer: settingPointer(pointer) } as const;
        if (pointer === '/name') return issueAt(applying, at, 'invalid_name', detail);
        if (pointer === '/prompt' || pointer === '/description') return issueAt(applying, at, 'invalid_value', detail);
        return settingIssueAt(applying, at, applying.definition.agents.get(name) ?? {}, detail);
      }),
    );
  }

  private async checkAutomations(tx: Queryable, applying: Applying): Promise<Diagnostic[]> {
    const { factory, desired, present } = applying;
    // The agent is one of the definition, so it will exist, whatever its identity is now.
    const fields = touched(applying, 'automation').flatMap((name): AutomationFields[] => {
      const automation = desired.automations.get(name);
      return automation ? [{ ...automation.fields, agentIdentityUid: null }] : [];
    });
    const scope = { factoryUid: factory.uid, teamUid: factory.teamUid };
    const stored = new Map(present.automations.map((automation) => [automation.name, automation]));
    const kept = fields.map(({ name }) => stored.get(name));
    const found = await this.automations.validate(tx, scope, fields, kept);
    const issues = fields.flatMap(({ name }, index) =>
      (found[index] ?? []).map(({ pointer, detail }) => automationIssue(applying, name, pointer, detail)),
    );
    const ofWebhooks = [...webhooksByName(applying), ...deletedWebhooks(applying)];
    const places = new Set(ofWebhooks.map(placeOf));
    return [...ofWebhooks, ...issues.filter((issue) => !places.has(placeOf(issue)))];
  }

  /** With the resources of the API. The diagnostics are at the last ones by name. */
  private async checkLimits(tx: Queryable, applying: Applying): Promise<Diagnostic[]> {
    const { factory, present } = applying;
    const tooMany = (kind: ResourceKind, places: number): Diagnostic[] =>
      namesOf(applying, kind, 'create')
        .slice(Math.max(0, places + namesOf(applying, kind, 'delete').length))
        .map((name) => limitReached(applying, kind, name));
    return [
      ...tooMany('webhook', MAX_WEBHOOKS_PER_FACTORY - present.webhooks.length),
      ...tooMany('agent', await this.identities.places(tx, factory.teamUid)),
      ...tooMany('automation', await this.automations.remainingQuota(tx, factory.uid)),
    ];
  }
}

const touched = (applying: Applying, kind: ResourceKind): string[] => namesOf(applying, kind, 'create', 'update');

const placeOf = ({ path, line, column }: Diagnostic): string => `${path}:${line}:${column}`;

const settingPointer = (pointer: string): string => pointer.replace('/baseModel', '/model');

function automationIssue(applying: Applying, name: string, wirePointer: string, detail: string): Diagnostic {
  const pointer = filePointer(wirePointer);
  const at = { kind: 'automation', name, pointer } as const;
  if (wirePointer.startsWith('/agent_config') && pointer !== '')
    return settingIssueAt(applying, at, applying.definition.automations.get(name) ?? {}, detail);
  return issueAt(applying, at, automationCode(pointer), detail);
}

function automationCode(pointer: string): string {
  if (pointer === '/name') return 'invalid_name';
  if (/^\/triggers\/\d+\/filter\/webhook_ids/.test(pointer)) return 'unknown_webhook';
  if (/^\/triggers\/\d+\/filter\/payload/.test(pointer)) return 'invalid_payload_filter';
  return pointer.startsWith('/triggers') ? 'invalid_trigger' : 'invalid_value';
}

/** By webhooks of the API, which definitions do not change. A later one does not prevent updates of existing webhooks. */
function takenWebhookNames(applying: Applying): Diagnostic[] {
  const ofApi = new Map(
    applying.present.webhooks.filter(({ source }) => source === 'api').map(({ name, uid }) => [name, uid]),
  );
  return namesOf(applying, 'webhook', 'create')
    .filter((name) => ofApi.has(name))
    .map((name) =>
      diagnosticAt(
        applying,
        { kind: 'webhook', name, pointer: '/name' },
        'name_taken',
        `The factory has a webhook ${name} that was made through the API (${ofApi.get(name) ?? ''}): delete or rename one of the two.`,
      ),
    );
}

/** Triggers that name webhooks instead of their UIDs. Of webhooks of one name, the one from the definition counts. */
function webhooksByName({ definition, places, present }: Applying): Diagnostic[] {
  const of = (source: string): [string, string][] =>
    present.webhooks.filter((webhook) => webhook.source === source).map(({ name, uid }) => [name, uid]);
  return checkWebhookIds(definition, places, new Map([...of('api'), ...of('definition')]));
}

function deletedWebhooks(applying: Applying): Diagnostic[] {
  const deleted = new Map([...uidsOf(applying, 'webhook', 'delete')].map(([name, uid]) => [uid, name]));
  return [...applying.desired.automations].flatMap(([name, { fields }]) =>
    webhookIdsOf(fields.triggers).flatMap(({ id, pointer }) => {
      const webhook = deleted.get(id);
      if (webhook === undefined) return [];
      const detail = `is the webhook ${webhook}, which has no file any more and would be deleted`;
      return [issueAt(applying, { kind: 'automation', name, pointer }, 'unknown_webhook', detail)];
    }),
  );
}
