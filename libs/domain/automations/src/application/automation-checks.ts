import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { AgentDirectory } from '#domain/agents';
import { type Issue, notAccessible, prefixIssues, type RejectionOf, valueAt } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { type AgentConfig, ConfigReferences, readAgentConfig } from '#domain/runs';
import {
  type AutomationFields,
  MAX_AGENT_CONFIG_BYTES,
  plainIssues,
  type RequestedAutomation,
} from '../domain/automation.js';
import type { Trigger } from '../domain/trigger.js';
import { TriggerProviders } from './trigger-providers.js';
import type { TriggerScope } from './trigger-provider.js';

/** The previous fields of an automation: unchanged references stay valid even when they would be rejected now. */
export type KeptFields = Pick<AutomationFields, 'triggers' | 'agentConfig' | 'agentIdentityUid'>;

/** `isAccess`: it refers to something that does not exist or that runs of the team may not use. */
interface FoundIssue extends Issue {
  readonly isAccess?: true;
}

const NOTHING: KeptFields = { triggers: [], agentConfig: null, agentIdentityUid: null };

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
  ): Promise<
    { readonly kind: 'valid'; readonly fields: AutomationFields } | RejectionOf<'invalid' | 'not_accessible'>
  > {
    const { agentIdentityUid } = requested;
    const config = await this.checkConfig(queryable, scope, requested.agentConfig, kept.agentConfig);
    const isIdentityKept = agentIdentityUid === null || agentIdentityUid === kept.agentIdentityUid;
    const found: readonly FoundIssue[] = [
      ...plainIssues(requested),
      ...(Array.isArray(config) ? config : []),
      ...(isIdentityKept ? [] : await this.identityIssues(queryable, scope, agentIdentityUid)),
      ...(await this.triggerIssues(queryable, scope, requested.triggers, kept.triggers)),
    ];
    if (found.length > 0 || Array.isArray(config)) {
      const issues = found.map(({ pointer, detail }) => ({ pointer, detail }));
      // The same as for references that do not exist, when nothing else is wrong.
      return { kind: found.every(({ isAccess }) => isAccess) ? 'not_accessible' : 'invalid', issues };
    }
    const { name, enabled, prompt, concurrency, answers, eventRepository } = requested;
    const triggers = requested.triggers as readonly Trigger[];
    return {
      kind: 'valid',
      fields: {
        name,
        enabled,
        prompt,
        agentConfig: config,
        agentIdentityUid,
        concurrency,
        answers,
        eventRepository,
        triggers,
      },
    };
  }

  private async checkConfig(
    queryable: Queryable,
    { teamUid }: TriggerScope,
    raw: unknown,
    kept: AgentConfig | null,
  ): Promise<AgentConfig | null | FoundIssue[]> {
    if (raw === null) return null;
    if (Buffer.byteLength(JSON.stringify(raw)) > MAX_AGENT_CONFIG_BYTES) return [TOO_LARGE];
    const reading = readAgentConfig(raw);
    if (reading.kind === 'invalid') return prefixIssues('/agent_config', reading.issues);
    const { config } = reading;
    const inaccessible = (await this.configs.check({ teamUid, caller: null }, config, queryable)).filter(
      ({ pointer }) => !isDeepStrictEqual(valueAt(config, pointer), valueAt(kept, pointer)),
    );
    if (inaccessible.length === 0) return config;
    return prefixIssues('/agent_config', inaccessible).map((issue) => ({ ...issue, isAccess: true as const }));
  }

  private async identityIssues(queryable: Queryable, { teamUid }: TriggerScope, uid: string): Promise<FoundIssue[]> {
    const identity = await this.agents.findIdentity(uid, teamUid, queryable);
    return identity?.available === true ? [] : [NO_IDENTITY];
  }

  private async triggerIssues(
    queryable: Queryable,
    scope: TriggerScope,
    triggers: readonly unknown[],
    kept: readonly Trigger[],
  ): Promise<Issue[]> {
    const changed = [...triggers.entries()].filter(([, one]) => !kept.some((had) => isDeepStrictEqual(one, had)));
    const raw = changed.map(([, trigger]) => trigger);
    const found = await this.providers.validate(queryable, scope, raw);
    return changed.flatMap(([place], index) => prefixIssues(`/triggers/${place}`, found[index] ?? []));
  }
}

const TOO_LARGE: Issue = {
  pointer: '/agent_config',
  detail: `must not exceed ${MAX_AGENT_CONFIG_BYTES} bytes as JSON`,
};
const NO_IDENTITY: FoundIssue = {
  pointer: '/agent_identity_uid',
  detail: notAccessible('an agent identity'),
  isAccess: true,
};
