import { describe, expect, it } from 'vitest';
import { BLANK_IDENTITY } from '#domain/agents';
import type { Automation } from '#domain/automations';
import type { DefinedWebhook } from '#domain/webhooks';
import type { AutomationSpec, FactoryDefinition, WebhookSpec } from './definition.js';
import { desiredState } from './desired-state.js';
import { desiredFingerprints, planDefinition } from './plan.js';
import { NOTHING_APPLIED, type PresentState } from './present-state.js';

const UID = 'F'.repeat(22);
const [HOOK, AGENT, FIX] = ['W'.repeat(22), 'A'.repeat(22), 'X'.repeat(22)];
const TRIGGER = { provider: 'webhook', event: 'received', filter: { webhook_ids: [HOOK] } };

const webhook = (fields: Partial<WebhookSpec> = {}): WebhookSpec => ({
  name: 'ci',
  authMode: 'token',
  signatureScheme: null,
  secretName: 'ci-secret',
  deliveryIdHeader: null,
  enabled: true,
  ...fields,
});
const automation = (fields: Partial<AutomationSpec> = {}): AutomationSpec => ({
  name: 'fix',
  enabled: true,
  agent: 'helper',
  triggers: [TRIGGER],
  prompt: 'Fix it.',
  ...fields,
});
const named = <T extends { readonly name: string }>(...all: T[]): Map<string, T> =>
  new Map(all.map((one) => [one.name, one]));

const definition = (changes: Partial<FactoryDefinition> = {}): FactoryDefinition => ({
  factory: { name: 'Builds', description: '', alias: null, agentDefaults: { model: 'auto' } },
  webhooks: named(webhook()),
  agents: named({ name: 'helper', description: null, prompt: 'Help.' }),
  automations: named(automation()),
  skills: [{ path: 'skills/logs/SKILL.md', content: 'Read.' }],
  ...changes,
});

/** What there is after an apply of {@link definition}. */
function present(changes: Partial<PresentState> = {}): PresentState {
  const defined: DefinedWebhook = {
    ...webhook(),
    uid: HOOK,
    source: 'definition',
    secretVersion: 1,
    managedSecretVersion: 1,
  };
  const fix = {
    uid: FIX,
    name: 'fix',
    enabled: true,
    prompt: 'Fix it.',
    agentConfig: null,
    agentIdentityUid: AGENT,
    triggers: [TRIGGER],
  } as unknown as Automation;
  const identity = { ...BLANK_IDENTITY, uid: AGENT, name: 'helper', prompt: 'Help.', baseModel: 'auto' };
  return {
    factory: definition().factory,
    webhooks: [defined],
    agents: [{ name: 'helper', identity }],
    automations: [fix],
    applied: {
      agentDefaults: { model: 'auto' },
      files: definition().skills,
      agents: new Map([['helper', AGENT]]),
      fingerprints: desiredFingerprints(desiredState(definition())),
    },
    ...changes,
  };
}

const plan = (desired: FactoryDefinition, there: PresentState) =>
  planDefinition(UID, desiredState(desired), there).map(
    ({ action, kind, name, changes, drifted }) =>
      `${action} ${kind} ${name}${changes.length > 0 ? ` (${changes.join(', ')})` : ''}${drifted ? ' drifted' : ''}`,
  );
const touched = (desired: FactoryDefinition, there: PresentState) =>
  plan(desired, there).filter((line) => !line.startsWith('unchanged'));

describe('planDefinition', () => {
  it('leaves everything as it is where nothing differs', () => {
    expect(plan(definition(), present())).toEqual([
      'unchanged factory Builds',
      'unchanged webhook ci',
      'unchanged agent helper',
      'unchanged automation fix',
      'unchanged skill skills/logs/SKILL.md',
    ]);
  });

  it('makes what is not there, without calling it drift the first time', () => {
    const nothing = { webhooks: [], agents: [], automations: [], applied: NOTHING_APPLIED };
    expect(touched(definition(), present(nothing))).toEqual([
      'create webhook ci',
      'create agent helper',
      'create automation fix',
      'create skill skills/logs/SKILL.md',
    ]);
  });

  it('deletes what the files do not have any more, not what the API made', () => {
    const [ci] = present().webhooks;
    const byHand = { ...webhook({ name: 'by-hand' }), ...ci, name: 'by-hand', source: 'api' } as DefinedWebhook;
    const none = { webhooks: named<WebhookSpec>(), agents: new Map(), automations: new Map(), skills: [] };
    expect(touched(definition(none), present({ webhooks: [byHand, ...present().webhooks] }))).toEqual([
      'delete webhook ci',
      'delete agent helper',
      'delete automation fix',
      'delete skill skills/logs/SKILL.md',
    ]);
  });

  it('gives paths to what has a file, and the uids of what is there', () => {
    const desired = definition({ webhooks: named(webhook({ name: 'second' })) });
    const entries = planDefinition(UID, desiredState(desired), present()).filter(({ kind }) => kind === 'webhook');
    expect(entries).toMatchObject([
      { action: 'delete', name: 'ci', path: null, uid: HOOK },
      { action: 'create', name: 'second', path: 'webhooks/second.yaml', uid: null },
    ]);
  });

  it('names what differs as files do', () => {
    const desired = definition({
      factory: { name: 'New', description: '', alias: 'new', agentDefaults: { model: 'auto' } },
      webhooks: named(webhook({ enabled: false, deliveryIdHeader: 'X-Id' })),
      automations: named(automation({ agent: null, environmentId: 'E'.repeat(22), prompt: 'Now.' })),
    });
    expect(touched(desired, present())).toEqual([
      'update factory New (alias, name)',
      'update webhook ci (deliveryIdHeader, enabled)',
      'update automation fix (agent, environmentId, model, prompt)',
    ]);
  });

  it('takes defaults for what agents, and automations without one, do not say', () => {
    const defaults = {
      ...definition().factory,
      agentDefaults: { model: 'new', mcpServers: { issues: 'M'.repeat(22) } },
    };
    const alone = automation({ name: 'alone', agent: null, model: 'own' });
    const desired = desiredState(definition({ factory: defaults, automations: named(automation(), alone) }));
    expect(desired.agents.get('helper')).toMatchObject({
      baseModel: 'new',
      mcpServers: { issues: { warp_id: 'M'.repeat(22) } },
    });
    expect(desired.automations.get('fix')?.fields.agentConfig).toBeNull();
    expect(desired.automations.get('alone')?.fields.agentConfig).toEqual({
      model_id: 'own',
      mcp_servers: { issues: { warp_id: 'M'.repeat(22) } },
    });
  });

  it('does not mind the case of headers, nor the order of keys', () => {
    const [ci] = present().webhooks as readonly [DefinedWebhook];
    const [fix] = present().automations as readonly [Automation];
    const there = present({
      webhooks: [{ ...ci, deliveryIdHeader: 'x-id' }],
      automations: [
        { ...fix, triggers: [{ filter: { webhook_ids: [HOOK] }, event: 'received', provider: 'webhook' }] },
      ],
    });
    const desired = definition({ webhooks: named(webhook({ deliveryIdHeader: 'X-ID' })) });
    expect(touched(desired, there)).toEqual([]);
  });

  it('takes over a newer version of a secret, which is no drift', () => {
    const [ci] = present().webhooks as readonly [DefinedWebhook];
    expect(touched(definition(), present({ webhooks: [{ ...ci, managedSecretVersion: 2 }] }))).toEqual([
      'update webhook ci (secretVersion)',
    ]);
    // What is gone has no newer version.
    expect(touched(definition(), present({ webhooks: [{ ...ci, managedSecretVersion: null }] }))).toEqual([]);
  });

  it('tells drift from a change of the files', () => {
    const [ci] = present().webhooks as readonly [DefinedWebhook];
    const off = present({ webhooks: [{ ...ci, enabled: false }] });
    expect(plan(definition(), off)).toContain('update webhook ci (enabled) drifted');
    // The files followed.
    expect(plan(definition({ webhooks: named(webhook({ enabled: false })) }), off)).toContain(
      'unchanged webhook ci drifted',
    );
    expect(plan(definition({ webhooks: named(webhook({ enabled: false })) }), present())).toContain(
      'update webhook ci (enabled)',
    );
    expect(plan(definition(), present({ webhooks: [] }))).toContain('create webhook ci drifted');
  });

  it('an automation whose agent’s identity is gone gets the new one', () => {
    expect(touched(definition(), present({ agents: [] }))).toEqual([
      'create agent helper drifted',
      'update automation fix (agent) drifted',
    ]);
  });

  it('what files cannot say of an agent or an automation is to be as in a new one', () => {
    const [agent] = present().agents as readonly [PresentState['agents'][number]];
    const [fix] = present().automations as readonly [Automation];
    const there = present({
      agents: [{ ...agent, identity: { ...agent.identity, available: false, skills: ['o/r:s'], autoMemory: true } }],
      automations: [{ ...fix, agentConfig: { idle_timeout_minutes: 5 } }],
    });
    expect(touched(definition(), there)).toEqual([
      'update agent helper (autoMemory, available, skills) drifted',
      'update automation fix (agentConfig) drifted',
    ]);
  });

  it('a name like a key of every object is a name', () => {
    const desired = definition({ webhooks: named(webhook({ name: '__proto__' }), webhook({ name: 'constructor' })) });
    expect(touched(desired, present({ webhooks: [] })).filter((line) => line.includes('webhook'))).toEqual([
      'create webhook __proto__',
      'create webhook constructor',
    ]);
  });
});
