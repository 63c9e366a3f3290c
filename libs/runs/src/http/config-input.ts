import { type Issue, ProblemError } from '#libs/http';
import type { AgentConfig } from '../domain/run.js';
import type { AmbientAgentConfig } from './dto/agent-config.dto.js';

/** Rules between fields, which no single field can check. Throws a 400 that names each place. */
export function toAgentConfig(config: AmbientAgentConfig | undefined): AgentConfig | undefined {
  if (!config) return undefined;
  const issues: Issue[] = [];
  if (config.skill_spec !== undefined && config.skills !== undefined) {
    issues.push({ pointer: '/config/skills', detail: 'must not be given together with skill_spec' });
  }
  for (const [name, server] of Object.entries(config.mcp_servers ?? {})) {
    const ways = [server.warp_id, server.command, server.url].filter((way) => way !== undefined).length;
    if (ways !== 1)
      issues.push({
        pointer: `/config/mcp_servers/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        detail: 'must have exactly one of warp_id, command and url',
      });
  }
  if (config.permission_allow_list !== undefined && config.permission_policy !== 'allow_list') {
    issues.push({ pointer: '/config/permission_allow_list', detail: 'needs permission_policy allow_list' });
  }
  if (issues.length > 0) {
    const detail = issues.map((issue) => `\`${readable(issue.pointer)}\` ${issue.detail}.`).join(' ');
    throw new ProblemError('invalid_request', detail, { errors: issues });
  }
  return plain(config) as AgentConfig;
}

/** `/config/skills` as people write it: `config.skills`. */
function readable(pointer: string): string {
  return pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
}

/** DTO instances as plain data without unset properties. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (item === undefined ? [] : [[key, plain(item)]])),
  );
}
