import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { AgentDirectory } from '#domain/agents';
import { type Issue, notAccessible, prefixIssues, valueAt } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { type AgentConfig, ConfigReferences, readAgentConfig } from '#domain/runs';
import {
  type AutomationFields,
  type AutomationIssue,
  MAX_AGENT_CONFIG_BYTES,
  plainIssues,
  type RequestedAutomation,
} from '../domain/automation.js';
import type { Trigger } from '../domain/trigger.js';
import { TriggerProviders } from './trigger-providers.js';
import type { TriggerScope } from './trigger-provider.js';

/** The previous fields of an automation: unchanged references stay valid even when they would be rejected now. */
export type KeptFields = Pick<AutomationFields, 'triggers' | 'agentConfig' | 'agentIdentityUid'>;

export type CheckedAutomation =
  | { readonly kind: 'valid'; readonly fields: AutomationFields }
  | { readonly kind: 'invalid'; readonly issues: readonly AutomationIssue[] };

type ConfigChecking =
  | { readonly kind: 'valid'; readonly config: AgentConfig | null }
  | { readonly kind: 'invalid'; readonly issues: readonly AutomationIssue[] };

const NOTHING: KeptFields = { triggers: [], agentConfig: null, agentIdentityUid: null };

/** The rules of automations, from the API and from definitions. */
@Injectable()
export class AutomationChecks {
  constructor(
    private readonly providers: TriggerProviders,
    private readonly configs: ConfigReferences,
    private readonly agents: AgentDirectory,
  ) {}

  /** Returns all issues. References are resolved in `queryable`. */
  async check(
    queryable: Queryable,
    scope: TriggerScope,
    requested: RequestedAutomation,
    kept: KeptFields = NOTHING,
  ): Promise<CheckedAutomation> {
    const checking = await this.checkConfig(queryable, scope, requested.agentConfig, kept.agentConfig);
    const issues = [
      ...plainIssues(requested),
      ...(checking.kind === 'invalid' ? checking.issues : []),
      ...(await this.identityIssues(queryable, scope, requested.agentIdentityUid, kept.agentIdentityUid)),
      ...(await this.triggerIssues(queryable, scope, requested.triggers, kept.triggers)),
    ];
    if (issues.length > 0 || checking.kind === 'invalid') return { kind: 'invalid', issues };
    const { name, enabled, prompt, agentIdentityUid } = requested;
    const triggers = requested.triggers as readonly Trigger[];
    return {
      kind: 'valid',
      fields: { name, enabled, prompt, agentConfig: checking.config, agentIdentityUid, triggers },
    };
  }

  private async checkConfig(
    queryable: Queryable,
    { teamUid }: TriggerScope,
    raw: unknown,
    kept: AgentConfig | null,
  ): Promise<ConfigChecking> {
    if (raw === null) return { kind: 'valid', config: null };
    if (Buffer.byteLength(JSON.stringify(raw)) > MAX_AGENT_CONFIG_BYTES)
      return { kind: 'invalid', issues: [TOO_LARGE] };
    const reading = readAgentConfig(raw);
    if (reading.kind === 'invalid')
      return { kind: 'invalid', issues: prefixIssues('/agent_config', as('invalid', reading.issues)) };
    const { config } = reading;
    const inaccessible = (await this.configs.check({ teamUid, caller: null }, config, queryable)).filter(
      ({ pointer }) => !isDeepStrictEqual(valueAt(config, pointer), valueAt(kept, pointer)),
    );
    return inaccessible.length > 0
      ? { kind: 'invalid', issues: prefixIssues('/agent_config', as('not_authorized', inaccessible)) }
      : { kind: 'valid', config };
  }

  private async identityIssues(
    queryable: Queryable,
    { teamUid }: TriggerScope,
    uid: string | null,
    kept: string | null,
  ): Promise<AutomationIssue[]> {
    if (uid === null || uid === kept) return [];
    const identity = await this.agents.findIdentity(uid, teamUid, queryable);
    return identity?.available === true ? [] : [NO_IDENTITY];
  }

  private async triggerIssues(
    queryable: Queryable,
    scope: TriggerScope,
    triggers: readonly unknown[],
    kept: readonly Trigger[],
  ): Promise<AutomationIssue[]> {
    const changed = [...triggers.entries()].filter(([, one]) => !kept.some((had) => isDeepStrictEqual(one, had)));
    const found = await this.providers.validate(
      queryable,
      scope,
      changed.map(([, trigger]) => trigger),
    );
    return changed.flatMap(([place], index) => prefixIssues(`/triggers/${place}`, as('invalid', found[index] ?? [])));
  }
}

const as = (kind: AutomationIssue['kind'], issues: readonly Issue[]): AutomationIssue[] =>
  issues.map(({ pointer, detail }) => ({ pointer, detail, kind }));

const TOO_LARGE: AutomationIssue = {
  pointer: '/agent_config',
  detail: `must not exceed ${MAX_AGENT_CONFIG_BYTES} bytes as JSON`,
  kind: 'invalid',
};
const NO_IDENTITY: AutomationIssue = {
  pointer: '/agent_identity_uid',
  detail: notAccessible('an agent identity'),
  kind: 'not_authorized',
};
