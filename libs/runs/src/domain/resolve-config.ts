import type { AgentConfig } from './run.js';

/** The configuration that is stored and executed: the request's, with the skill settled and repeated for old clients. */
export function resolveConfig(config: AgentConfig, skill: string | undefined): AgentConfig {
  const skills =
    skill !== undefined
      ? [skill]
      : (config.skills ?? (config.skill_spec === undefined ? undefined : [config.skill_spec]));
  const first = skills?.[0];
  if (first === undefined) return config;
  const name = config.name ?? skillName(first);
  return { ...config, name, skills, skill_spec: first };
}

/** `owner/repo:review` → review; `owner/repo:.agents/skills/review/SKILL.md` → review. */
export function skillName(skillSpec: string): string {
  const path = skillSpec.slice(skillSpec.indexOf(':') + 1).replace(/\/?SKILL\.md$/i, '');
  return (
    path
      .split('/')
      .filter((part) => part !== '')
      .at(-1) ?? skillSpec
  );
}

const MASK = '***';

/** The configuration as responses show it: values of environment variables and headers are masked, names stay. */
export function maskConfig(config: AgentConfig): AgentConfig {
  if (config.mcp_servers === undefined) return config;
  const masked = (map: Record<string, string> | undefined) =>
    map && Object.fromEntries(Object.keys(map).map((key) => [key, MASK]));
  const servers = Object.entries(config.mcp_servers).map(([name, server]) => [
    name,
    {
      ...server,
      ...(server.env && { env: masked(server.env) }),
      ...(server.headers && { headers: masked(server.headers) }),
    },
  ]);
  return { ...config, mcp_servers: Object.fromEntries(servers) as AgentConfig['mcp_servers'] };
}
