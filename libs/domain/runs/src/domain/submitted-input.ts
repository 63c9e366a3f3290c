import type { AgentConfig } from '#execution/executions';
import { canonicalJson } from '#platform/kernel';

/**
 * What a run was created with, as far as its resolved configuration does not show it. It has no secret: values of MCP servers
 * are only in the configuration.
 */
export interface SubmittedInput {
  /** Fields that were resolved to another value, as they were submitted; null: the field was absent. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Names of the submitted MCP servers, when an agent identity has added others. */
  readonly mcp_servers?: readonly string[];
  readonly skill?: string;
  readonly skill_arguments?: string;
  /** The agent identity that executes the run. */
  readonly agent_identity_uid?: string;
}

/** The difference between what was submitted and what is stored: empty for a run without an identity, defaults and skills. */
export function recordSubmitted(
  submitted: AgentConfig,
  resolved: AgentConfig,
  references: Pick<SubmittedInput, 'skill' | 'skill_arguments' | 'agent_identity_uid'>,
): SubmittedInput {
  const keys = [...new Set([...Object.keys(submitted), ...Object.keys(resolved)])].filter((key) => key !== SERVERS);
  const changed = keys.flatMap((key): [string, unknown][] => {
    const value: unknown = submitted[key];
    return isSame(value, resolved[key]) ? [] : [[key, value ?? null]];
  });
  const names = Object.keys(submitted.mcp_servers ?? {});
  const hasMore = Object.keys(resolved.mcp_servers ?? {}).length > names.length;
  return {
    ...(changed.length === 0 ? {} : { config: Object.fromEntries(changed) }),
    ...(hasMore ? { mcp_servers: names } : {}),
    ...(references.skill === undefined ? {} : { skill: references.skill }),
    ...(references.skill_arguments === undefined ? {} : { skill_arguments: references.skill_arguments }),
    ...(references.agent_identity_uid === undefined ? {} : { agent_identity_uid: references.agent_identity_uid }),
  };
}

/** The configuration as it was submitted. */
export function restoreSubmitted(
  resolved: AgentConfig,
  { config = {}, mcp_servers: names }: SubmittedInput,
): AgentConfig {
  const { mcp_servers: servers = {}, ...stored } = resolved;
  const kept = names === undefined ? servers : pick(servers, names);
  const restored = Object.entries({ ...stored, ...config }).filter(([, value]) => value !== null);
  return {
    ...(Object.fromEntries(restored) as AgentConfig),
    ...(Object.keys(kept).length === 0 ? {} : { mcp_servers: kept }),
  };
}

/**
 * The input of a run that an older version has created: its base prompt has the instructions of its skills already, so that they
 * are not resolved again.
 */
export function withoutSkills({ skills: _skills, skill_spec: _spec, ...config }: AgentConfig): AgentConfig {
  return config;
}

/** Each field of `override` replaces the same field, together with the fields that contradict it. */
export function overrideConfig(config: AgentConfig, override: AgentConfig): AgentConfig {
  const dropped = new Set<string>([
    ...(namesSkills(override) ? ['skills', 'skill_spec'] : []),
    ...((override.permission_policy ?? 'allow_list') === 'allow_list' ? [] : ['permission_allow_list']),
  ]);
  const kept = Object.entries(config).filter(([key]) => !dropped.has(key));
  return { ...(Object.fromEntries(kept) as AgentConfig), ...override };
}

export const namesSkills = ({ skills, skill_spec: spec }: AgentConfig): boolean =>
  skills !== undefined || spec !== undefined;

const SERVERS = 'mcp_servers';

const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (a !== undefined && b !== undefined && canonicalJson(a) === canonicalJson(b));

function pick<Value>(record: Readonly<Record<string, Value>>, names: readonly string[]): Record<string, Value> {
  const wanted = new Set(names);
  return Object.fromEntries(Object.entries(record).filter(([name]) => wanted.has(name)));
}
