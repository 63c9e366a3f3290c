import { parsePointer } from '#platform/kernel';
import type { AgentSettings, Diagnostic } from '../domain/definition.js';
import { type Applying, diagnosticAt, sentence } from './applying.js';

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
