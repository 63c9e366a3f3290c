import { type AgentIdentity, AUTO_MODEL, mapSecrets, mapServers } from '#domain/agents';
import { type AgentConfig, DEFAULT_HARNESS } from '#execution/executions';

/** Bytes that a run's configuration may have as JSON, with everything that an identity and the team bring. */
export const MAX_CONFIG_BYTES = 524_288;

export type IdentityDefaults = Pick<
  AgentIdentity,
  'prompt' | 'environmentId' | 'workerHost' | 'baseModel' | 'harness' | 'skills' | 'mcpServers'
>;

export interface ConfigDefaults {
  readonly identity?: IdentityDefaults | null;
  readonly team?: { readonly defaultModelId: string | null; readonly defaultWorkerHost: string | null } | null;
}

/**
 * The configuration of a run, but for what its skills add. The request wins over the identity, the identity over the
 * team's defaults (which know a worker host and a model only). The skill is settled and repeated for old clients.
 */
export function resolveConfig(
  config: AgentConfig,
  skill: string | undefined,
  { identity, team }: ConfigDefaults = {},
): AgentConfig {
  const asked = skill === undefined ? (config.skills ?? listOf(config.skill_spec)) : [skill];
  const skills = asked ?? (identity && identity.skills.length > 0 ? [...identity.skills] : undefined);
  const servers = { ...identity?.mcpServers, ...config.mcp_servers };
  return withoutUnset({
    ...config,
    model_id: config.model_id ?? identity?.baseModel ?? team?.defaultModelId ?? undefined,
    base_prompt: config.base_prompt ?? identity?.prompt ?? undefined,
    environment_id: config.environment_id ?? identity?.environmentId ?? undefined,
    worker_host: config.worker_host ?? identity?.workerHost ?? team?.defaultWorkerHost ?? undefined,
    harness: config.harness ?? identity?.harness ?? undefined,
    mcp_servers: Object.keys(servers).length > 0 ? servers : config.mcp_servers,
    ...(skills?.[0] === undefined ? {} : { skills, skill_spec: skills[0] }),
  });
}

const listOf = (spec: string | undefined): string[] | undefined => (spec === undefined ? undefined : [spec]);

function withoutUnset(config: AgentConfig): AgentConfig {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
}

/** `owner/repo:review` → review; `owner/repo:.agents/skills/review/SKILL.md` → review. */
export function skillName(skillSpec: string): string {
  const path = skillSpec.slice(skillSpec.indexOf(':') + 1).replace(/\/?SKILL\.md$/i, '');
  return path.split('/').findLast((part) => part !== '') ?? skillSpec;
}

export function isOversized(config: AgentConfig): boolean {
  return Buffer.byteLength(JSON.stringify(config)) > MAX_CONFIG_BYTES;
}

/** The configuration as responses show it: values of environment variables and headers are masked, names stay. */
export function maskConfig(config: AgentConfig): AgentConfig {
  if (config.mcp_servers === undefined) return config;
  return { ...config, mcp_servers: mapServers(config.mcp_servers, (server) => mapSecrets(server, () => '***')) };
}

/** Masked. Names the harness and the model also where neither the request nor a default names them. */
export function effectiveConfig(config: AgentConfig): AgentConfig {
  return {
    ...maskConfig(config),
    model_id: config.model_id ?? config.harness?.model_id ?? AUTO_MODEL.id,
    harness: { ...config.harness, type: config.harness?.type ?? DEFAULT_HARNESS },
  };
}
