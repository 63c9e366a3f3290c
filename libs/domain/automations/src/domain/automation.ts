import type { AgentConfig, PrincipalRef } from '#domain/runs';
import type { Trigger } from './trigger.js';

/** `definition`: from a factory's files, whose next apply brings back what was changed otherwise. */
export const AUTOMATION_SOURCES = ['api', 'definition'] as const;
export type AutomationSource = (typeof AUTOMATION_SOURCES)[number];

/** What of an automation can be set; a PUT sets all of it. */
export interface AutomationFields {
  readonly name: string;
  readonly enabled: boolean;
  readonly prompt: string;
  /** As the caller gave it; defaults are resolved when a run is created. */
  readonly agentConfig: AgentConfig | null;
  readonly agentIdentityUid: string | null;
  readonly triggers: readonly Trigger[];
}

export interface Automation extends AutomationFields {
  /** Of the row. */
  readonly id: string;
  readonly uid: string;
  readonly factoryUid: string;
  readonly teamUid: string;
  readonly source: AutomationSource;
  /** Who saved it last: the creator of its runs. What they may do is what the team may. */
  readonly author: PrincipalRef;
  /** Moves with every change. */
  readonly version: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export const MAX_AUTOMATIONS = 2000;
export const MAX_TRIGGERS = 20;
/** Bytes of JSON, of all together: whoever evaluates an event holds those of all automations that it may concern. */
export const MAX_TRIGGERS_BYTES = 65_536;
/** Characters. */
export const MAX_AUTOMATION_NAME = 128;
/** Bytes of UTF-8. */
export const MAX_PROMPT_BYTES = 65_536;
/** Bytes of JSON. */
export const MAX_AGENT_CONFIG_BYTES = 65_536;

/** Under which the values of its MCP servers are sealed. */
export const secretsOf = (uid: string): string => `automation/${uid}`;
