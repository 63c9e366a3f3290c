import { Injectable } from '@nestjs/common';
import { resealServers, type Sealing, ServerSecrets } from '#domain/agents';
import type { AgentConfig } from '#execution/executions';

/**
 * Configurations that other libraries store to start runs with. What their MCP servers are given in `env` and `headers` is
 * often a credential: it lies in the table sealed, each value for its place below `owner`.
 */
@Injectable()
export class ConfigSecrets {
  constructor(private readonly servers: ServerSecrets) {}

  /**
   * Seals every value. `***`, which is what responses show, keeps the one of `stored`, but only of a server of which
   * nothing else changes. Pointers of issues are below `/agent_config`.
   */
  seal(owner: string, config: AgentConfig, stored: AgentConfig | null): Sealing<AgentConfig> {
    const { mcp_servers: servers } = config;
    if (servers === undefined) return { kind: 'sealed', value: config };
    const sealing = this.servers.sealAll(owner, servers, stored?.mcp_servers ?? null, '/agent_config/mcp_servers');
    return sealing.kind === 'invalid'
      ? sealing
      : { kind: 'sealed', value: { ...config, mcp_servers: { ...sealing.value } } };
  }

  /** In clear; for the runs that are started with it, never for a response. */
  open(owner: string, config: AgentConfig): AgentConfig {
    const { mcp_servers: servers } = config;
    return servers === undefined ? config : { ...config, mcp_servers: this.servers.openAll(owner, servers) };
  }
}

/** `mcp_servers` as stored below `owner`, with every sealed value replaced by `anew`. */
export const resealConfigServers = (
  owner: string,
  stored: unknown,
  anew: (sealed: string, context: string) => string,
): unknown => resealServers(owner, stored as NonNullable<AgentConfig['mcp_servers']>, anew);
