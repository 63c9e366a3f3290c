import type { Issue } from '#platform/kernel';
import type { AgentConfig, PrincipalRef } from '#domain/runs';
import type { Trigger } from './trigger.js';
import { readPrompt } from './placeholders.js';

/** `definition`: from the files of the factory, whose next apply overwrites other changes. */
export const AUTOMATION_SOURCES = ['api', 'definition'] as const;
export type AutomationSource = (typeof AUTOMATION_SOURCES)[number];

/** The fields of an automation that can be set; a PUT sets all of them. */
export interface AutomationFields {
  readonly name: string;
  readonly enabled: boolean;
  readonly prompt: string;
  /** As in the request; defaults are resolved when a run is created. */
  readonly agentConfig: AgentConfig | null;
  readonly agentIdentityUid: string | null;
  readonly triggers: readonly Trigger[];
}

export interface Automation extends AutomationFields {
  /** Key of the row. */
  readonly id: string;
  readonly uid: string;
  readonly factoryUid: string;
  readonly teamUid: string;
  readonly source: AutomationSource;
  /** The principal that saved it last, and the creator of its runs, which have the permissions of the team. */
  readonly author: PrincipalRef;
  /** Incremented by every change. */
  readonly version: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export const MAX_AUTOMATIONS = 2000;
export const MAX_TRIGGERS = 20;
/** Bytes of JSON of all triggers: an evaluation holds the triggers of all automations that the event reaches. */
export const MAX_TRIGGERS_BYTES = 65_536;
/** Characters. */
export const MAX_AUTOMATION_NAME = 128;
/** Bytes of UTF-8. */
export const MAX_PROMPT_BYTES = 65_536;
/** Bytes of JSON. */
export const MAX_AGENT_CONFIG_BYTES = 65_536;

/** The encryption context of the values of its MCP servers. */
export const secretsOf = (uid: string): string => `automation/${uid}`;

/** An issue with a pointer into the automation as it is on the wire: `/triggers/0/filter/webhook_ids/0`. */
export interface AutomationIssue extends Issue {
  /** `not_authorized`: it refers to something that does not exist or that runs of the team may not use. */
  readonly kind: 'invalid' | 'not_authorized';
}

export const invalid = (pointer: string, detail: string): AutomationIssue => ({ pointer, detail, kind: 'invalid' });

/** {@link AutomationFields} before they are validated. */
export interface RequestedAutomation {
  readonly name: string;
  readonly enabled: boolean;
  readonly prompt: string;
  readonly agentConfig: unknown;
  readonly agentIdentityUid: string | null;
  readonly triggers: readonly unknown[];
}

/** The rules that need no lookup. */
export function plainIssues({ name, prompt, triggers }: RequestedAutomation): AutomationIssue[] {
  const read = readPrompt(prompt);
  const found: (AutomationIssue | null)[] = [
    name.trim() === '' ? invalid('/name', 'must not be blank') : null,
    name.length > MAX_AUTOMATION_NAME ? invalid('/name', `must not exceed ${MAX_AUTOMATION_NAME} characters`) : null,
    prompt.trim() === '' ? invalid('/prompt', 'must not be blank') : null,
    Buffer.byteLength(prompt) > MAX_PROMPT_BYTES
      ? invalid('/prompt', `must not exceed ${MAX_PROMPT_BYTES} bytes in UTF-8`)
      : null,
    read.kind === 'invalid' ? invalid('/prompt', read.detail) : null,
    triggers.length === 0 ? invalid('/triggers', 'must have at least one entry') : null,
    triggers.length > MAX_TRIGGERS ? invalid('/triggers', `must not exceed ${MAX_TRIGGERS} entries`) : null,
    Buffer.byteLength(JSON.stringify(triggers)) > MAX_TRIGGERS_BYTES
      ? invalid('/triggers', `must not exceed ${MAX_TRIGGERS_BYTES} bytes as JSON in total`)
      : null,
  ];
  return found.filter((issue) => issue !== null);
}
