import type { Issue } from '#platform/kernel';
import { type AgentConfig, agentConfigColumn, type PrincipalRef } from '#domain/runs';
import type { Trigger } from './trigger.js';
import { answersIssues, type AutomationAnswers } from './answers.js';
import { type AutomationConcurrency, concurrencyIssues } from './concurrency.js';
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
  /** Null: an event always starts a run. */
  readonly concurrency: AutomationConcurrency | null;
  /** Null: all parts. */
  readonly answers: AutomationAnswers | null;
  /** Runs name the repository of their event. */
  readonly eventRepository: boolean;
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
export const MAX_PROMPT_BYTES = 65_536;
export const MAX_AGENT_CONFIG_BYTES = 65_536;

/** The encryption context of the values of its MCP servers. */
export const secretsOf = (uid: string): string => `automation/${uid}`;

/** Credentials of MCP servers. `version` does not change when the key does: runs receive the same values as before. */
export const AUTOMATIONS_ENCRYPTED_COLUMNS = [agentConfigColumn('automations', secretsOf)];

/** {@link AutomationFields} before they are validated. */
export interface RequestedAutomation extends Omit<AutomationFields, 'agentConfig' | 'triggers'> {
  readonly agentConfig: unknown;
  readonly triggers: readonly unknown[];
}

/** The rules that need no lookup. */
export function plainIssues({ name, prompt, triggers, concurrency, answers }: RequestedAutomation): Issue[] {
  const read = readPrompt(prompt);
  const triggersBytes = Buffer.byteLength(JSON.stringify(triggers));
  const rules: readonly (readonly [isBroken: boolean, pointer: string, detail: string])[] = [
    [name.trim() === '', '/name', 'must not be blank'],
    [name.length > MAX_AUTOMATION_NAME, '/name', `must not exceed ${MAX_AUTOMATION_NAME} characters`],
    [prompt.trim() === '', '/prompt', 'must not be blank'],
    [Buffer.byteLength(prompt) > MAX_PROMPT_BYTES, '/prompt', `must not exceed ${MAX_PROMPT_BYTES} bytes in UTF-8`],
    [read.kind === 'invalid', '/prompt', read.kind === 'invalid' ? read.detail : ''],
    [triggers.length === 0, '/triggers', 'must have at least one entry'],
    [triggers.length > MAX_TRIGGERS, '/triggers', `must not exceed ${MAX_TRIGGERS} entries`],
    [triggersBytes > MAX_TRIGGERS_BYTES, '/triggers', `must not exceed ${MAX_TRIGGERS_BYTES} bytes as JSON in total`],
  ];
  const issues = rules.flatMap(([isBroken, pointer, detail]) => (isBroken ? [{ pointer, detail }] : []));
  return [...issues, ...concurrencyIssues(concurrency, triggers), ...answersIssues(answers)];
}
