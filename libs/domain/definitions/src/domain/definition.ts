import type { AutomationAnswers, AutomationConcurrency } from '#domain/automations';
import type { WebhookSettings } from '#domain/webhooks';

/** A file of a definition; `path` relative to its root, with `/`, as in `webhooks/ci.yaml`. */
export interface DefinitionFile {
  readonly path: string;
  readonly content: string;
}

/** Something wrong with a definition, and where. Lines and columns count from 1. */
export interface Diagnostic {
  /** Stable, snake_case: `unknown_key`, `duplicate_key`, `yaml_alias`, … */
  readonly code: string;
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Where the value at a JSON pointer stands in its file; the nearest one around it where it is not there. */
export interface SourcePlaces {
  at(path: string, pointer: string): { readonly line: number; readonly column: number };
}

/** What agents of the factory start with; every field can stand in an agent's or an automation's file too. */
export interface AgentSettings {
  readonly model?: string;
  readonly environmentId?: string;
  readonly workerHost?: string;
  readonly harness?: string;
  /** Servers that are registered for the team, by the name they have in the run; values are their UIDs. */
  readonly mcpServers?: Readonly<Record<string, string>>;
}

export interface FactorySpec {
  readonly name: string;
  readonly description: string;
  readonly alias: string | null;
  readonly agentDefaults: AgentSettings;
}

export type WebhookSpec = WebhookSettings;

export interface AutomationSpec extends AgentSettings {
  readonly name: string;
  readonly enabled: boolean;
  /** Name of an agent of this definition. */
  readonly agent: string | null;
  readonly concurrency?: AutomationConcurrency;
  readonly answers?: AutomationAnswers;
  readonly eventRepository?: true;
  /** As on the wire of `POST /automations`. */
  readonly triggers: readonly Readonly<Record<string, unknown>>[];
  readonly prompt: string;
}

export interface AgentSpec extends AgentSettings {
  readonly name: string;
  readonly description: string | null;
  readonly prompt: string;
  /** Specs of the skills that its runs have where they name no others; absent: none. */
  readonly skills?: readonly string[];
}

/** A whole definition whose files were understood. Resources by name, in the order of their names. */
export interface FactoryDefinition {
  readonly factory: FactorySpec;
  readonly webhooks: ReadonlyMap<string, WebhookSpec>;
  readonly automations: ReadonlyMap<string, AutomationSpec>;
  readonly agents: ReadonlyMap<string, AgentSpec>;
  /** `skills/…` and `agents/<name>/skills/…`, as they are. */
  readonly skills: readonly DefinitionFile[];
}

export interface ValidDefinition {
  readonly kind: 'valid';
  readonly definition: FactoryDefinition;
  readonly places: SourcePlaces;
}
export interface InvalidDefinition {
  readonly kind: 'invalid';
  readonly diagnostics: readonly Diagnostic[];
}

export const MAX_FILES = 256;
export const MAX_FILE_BYTES = 262_144;

export const RESOURCE_KINDS = ['factory', 'webhook', 'automation', 'agent', 'skill'] as const;
export type ResourceKind = (typeof RESOURCE_KINDS)[number];
export const PLAN_ACTIONS = ['create', 'update', 'delete', 'unchanged'] as const;
export type PlanAction = (typeof PLAN_ACTIONS)[number];

export interface PlanEntry {
  readonly action: PlanAction;
  readonly kind: ResourceKind;
  readonly name: string;
  /** Of the file; null for a deletion. */
  readonly path: string | null;
  /** Of what there is already, or was made. */
  readonly uid: string | null;
  /** What differs, for an update: `secretVersion` where only the secret has another version. */
  readonly changes: readonly string[];
  /** Changed since the last apply, by other ways than the files. */
  readonly drifted: boolean;
}

/** More than anybody reads; a file can hold a hundred thousand faults. */
export const MAX_DIAGNOSTICS = 100;
const MAX_SHOWN_PATH = 255;
const MAX_MESSAGE = 600;
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** By path, line and column; at most {@link MAX_DIAGNOSTICS}, safe to print. */
export function sortedDiagnostics(found: readonly Diagnostic[]): Diagnostic[] {
  return [...found]
    .sort((one, other) => byCode(one.path, other.path) || one.line - other.line || one.column - other.column)
    .slice(0, MAX_DIAGNOSTICS)
    .map((diagnostic) => ({
      ...diagnostic,
      path: printable(diagnostic.path, MAX_SHOWN_PATH),
      message: printable(diagnostic.message, MAX_MESSAGE),
    }));
}

/** Text of a file as it can stand in a message: nothing in it moves a terminal's cursor. */
export function printable(text: string, maxLength = 64): string {
  const clean = text.slice(0, maxLength).toWellFormed().replaceAll(UNPRINTABLE, '\uFFFD');
  return text.length > maxLength ? `${clean}…` : clean;
}

const byCode = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
