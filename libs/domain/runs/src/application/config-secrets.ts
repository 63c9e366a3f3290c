import { Injectable } from '@nestjs/common';
import { type Sealing, ServerSecrets } from '#domain/agents';
import type { AgentConfig } from '#execution/executions';

/**
 * Configurations that other libraries store to start runs with. `env` and `headers` of their MCP servers often hold
 * credentials, so each value is encrypted, for its `owner` and its place in the configuration.
 */
@Injectable()
export class ConfigSecrets {
  constructor(private readonly servers: ServerSecrets) {}

  /**
   * Encrypts every value. `***`, which is what responses show, keeps the value of `stored`, but only for a server of which
   * nothing else changes. Pointers of issues begin with `/agent_config`.
   */
  seal(owner: string, config: AgentConfig, stored: AgentConfig | null): Sealing<AgentConfig> {
    const { mcp_servers: servers } = config;
    if (servers === undefined) return { kind: 'sealed', value: config };
    const sealing = this.servers.sealAll(owner, servers, stored?.mcp_servers ?? null, '/agent_config/mcp_servers');
    return sealing.kind === 'invalid'
      ? sealing
      : { kind: 'sealed', value: { ...config, mcp_servers: { ...sealing.value } } };
  }

  /** In clear, for the runs that are started with it; never for a response. */
  open(owner: string, config: AgentConfig): AgentConfig {
    const { mcp_servers: servers } = config;
    return servers === undefined ? config : { ...config, mcp_servers: this.servers.openAll(owner, servers) };
  }
}
