import type { Factory } from '#domain/factories';
import { fieldName, parsePointer } from '#platform/kernel';
import type {
  AgentSettings,
  Diagnostic,
  FactoryDefinition,
  PlanAction,
  PlanEntry,
  ResourceKind,
  SourcePlaces,
} from '../domain/definition.js';
import type { DesiredState } from '../domain/desired-state.js';
import { resourcePath } from '../domain/files/layout.js';
import type { PresentState } from '../domain/present-state.js';

export interface Applying {
  readonly factory: Factory;
  readonly definition: FactoryDefinition;
  readonly places: SourcePlaces;
  readonly desired: DesiredState;
  readonly present: PresentState;
  readonly plan: readonly PlanEntry[];
}

/** A definition that was planned cannot be applied. It is thrown, so that the transaction is rolled back. */
export class RefusedError extends Error {
  constructor(readonly diagnostics: readonly Diagnostic[]) {
    super('The definition cannot be applied.');
  }
}

interface ResourceValue {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly pointer: string;
}

export const namesOf = ({ plan }: Applying, kind: ResourceKind, ...actions: PlanAction[]): string[] =>
  plan.filter((entry) => entry.kind === kind && actions.includes(entry.action)).map(({ name }) => name);

/** UIDs of the resources that exist, by name. */
export const uidsOf = ({ plan }: Applying, kind: ResourceKind, ...actions: PlanAction[]): Map<string, string> =>
  new Map(
    plan.flatMap((entry) =>
      entry.kind === kind && actions.includes(entry.action) && entry.uid !== null ? [[entry.name, entry.uid]] : [],
    ),
  );

export function diagnosticAt({ places }: Applying, at: ResourceValue, code: string, message: string): Diagnostic {
  const path = resourcePath(at.kind, at.name);
  return { code, path, ...places.at(path, at.pointer), message };
}

/** As {@link diagnosticAt}, for a detail that completes “`secretName` …”. Names are no fields: they are in the paths. */
export function issueAt(applying: Applying, at: ResourceValue, code: string, detail: string): Diagnostic {
  const { pointer } = at;
  const subject = pointer === '' ? 'The file' : pointer === '/name' ? 'The name' : `\`${fieldName(pointer)}\``;
  return diagnosticAt(applying, at, code, `${subject} ${detail}.`);
}

const SETTING_CODES: Readonly<Record<string, string>> = {
  environmentId: 'unusable_environment',
  mcpServers: 'unusable_mcp_server',
};

/** About a setting of an agent or automation: where it is written, in the file itself or among the factory's defaults. */
export function settingIssueAt(applying: Applying, at: ResourceValue, own: AgentSettings, detail: string): Diagnostic {
  const [field = '', key] = parsePointer(at.pointer);
  return isOwn(own, field, key) || !isOwn(applying.definition.factory.agentDefaults, field, key)
    ? issueAt(applying, at, SETTING_CODES[field] ?? 'invalid_value', detail)
    : defaultsIssueAt(applying, at.pointer, detail);
}

export function defaultsIssueAt(applying: Applying, pointer: string, detail: string): Diagnostic {
  const [field = ''] = parsePointer(pointer);
  const at = { kind: 'factory', name: '', pointer: `/agentDefaults${pointer}` } as const;
  return issueAt(applying, at, SETTING_CODES[field] ?? 'invalid_value', detail);
}

function isOwn(settings: AgentSettings, field: string, key: string | undefined): boolean {
  const value: unknown = Object.hasOwn(settings, field) ? settings[field as keyof AgentSettings] : undefined;
  if (typeof value !== 'object' || value === null || key === undefined) return value !== undefined;
  return Object.hasOwn(value, key);
}

export const aliasTaken = (applying: Applying): Diagnostic =>
  diagnosticAt(
    applying,
    { kind: 'factory', name: '', pointer: '/alias' },
    'alias_taken',
    'Another factory of the team has this `alias`.',
  );

export const limitReached = (applying: Applying, kind: ResourceKind, name: string): Diagnostic =>
  diagnosticAt(
    applying,
    { kind, name, pointer: '/name' },
    'limit_reached',
    `There is no place for another ${kind}: the ${kind === 'agent' ? 'team' : 'factory'} has as many as it may have.`,
  );
