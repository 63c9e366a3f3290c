import type { Factory } from '#domain/factories';
import { fieldName, parsePointer } from '#platform/kernel';
import type {
  AgentSettings,
  Diagnostic,
  FactoryDefinition,
  PlanEntry,
  ResourceKind,
  SourcePlaces,
} from '../domain/definition.js';
import type { DesiredState } from '../domain/desired-state.js';
import { resourcePath } from '../domain/files/layout.js';
import type { PresentState } from '../domain/present-state.js';

/** A definition that was understood, beside what there is of its factory. */
export interface Applying {
  readonly factory: Factory;
  readonly definition: FactoryDefinition;
  readonly places: SourcePlaces;
  readonly desired: DesiredState;
  readonly present: PresentState;
  readonly plan: readonly PlanEntry[];
}

/** Names of the resources of this kind that are made or changed. */
export const touched = ({ plan }: Applying, kind: ResourceKind): string[] =>
  plan.flatMap((entry) =>
    entry.kind === kind && (entry.action === 'create' || entry.action === 'update') ? [entry.name] : [],
  );

/** A diagnostic at a value of the resource's file, or of the file around it. */
export function diagnosticAt(
  { places }: Pick<Applying, 'places'>,
  at: { readonly kind: ResourceKind; readonly name: string; readonly pointer: string },
  code: string,
  message: string,
): Diagnostic {
  const path = resourcePath(at.kind, at.name);
  return { code, path, ...places.at(path, at.pointer), message };
}

/** “`secretName` must be …”, for a detail that completes the sentence. Names are no fields: they are in the paths. */
export function sentence(pointer: string, detail: string): string {
  if (pointer === '') return `The file ${detail}.`;
  return pointer === '/name' ? `The name ${detail}.` : `\`${fieldName(pointer)}\` ${detail}.`;
}

/** Codes by the settings that agents, automations and `agentDefaults` have in common. */
const CODES: Readonly<Record<string, string>> = {
  environmentId: 'unusable_environment',
  mcpServers: 'unusable_mcp_server',
};

/**
 * About a setting of an agent or automation: where it stands, in the file itself or among the factory's defaults.
 * `pointer`: into the file, `/mcpServers/issues`.
 */
export function settingDiagnostic(
  applying: Applying,
  at: { readonly kind: 'agent' | 'automation'; readonly name: string; readonly pointer: string },
  own: AgentSettings,
  detail: string,
): Diagnostic {
  const [field = '', key] = parsePointer(at.pointer);
  const code = CODES[field] ?? 'invalid_value';
  return isOwn(own, field, key) || !isOwn(applying.definition.factory.agentDefaults, field, key)
    ? diagnosticAt(applying, at, code, sentence(at.pointer, detail))
    : defaultsDiagnostic(applying, at.pointer, detail);
}

export function defaultsDiagnostic(applying: Applying, pointer: string, detail: string): Diagnostic {
  const place = { kind: 'factory', name: '', pointer: `/agentDefaults${pointer}` } as const;
  return diagnosticAt(
    applying,
    place,
    CODES[parsePointer(pointer)[0] ?? ''] ?? 'invalid_value',
    sentence(place.pointer, detail),
  );
}

function isOwn(settings: AgentSettings, field: string, key: string | undefined): boolean {
  const value: unknown = Object.hasOwn(settings, field) ? settings[field as keyof AgentSettings] : undefined;
  if (typeof value !== 'object' || value === null || key === undefined) return value !== undefined;
  return Object.hasOwn(value, key);
}

/** A definition that was planned cannot be applied after all. Thrown, so that nothing of it stays. */
export class RefusedError extends Error {
  constructor(readonly diagnostics: readonly Diagnostic[]) {
    super('The definition cannot be applied.');
  }
}
