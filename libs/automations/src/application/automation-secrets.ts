import { Injectable } from '@nestjs/common';
import { mapSecrets, mapServers, resealServers, type Sealing, ServerSecrets } from '#libs/agents';
import { MASKED } from '#libs/kernel';
import type { AgentConfig } from '#libs/runs';

/** What an automation's MCP servers are given in `env` and `headers` is often a credential: it lies in the table sealed. */
@Injectable()
export class AutomationSecrets {
  constructor(private readonly servers: ServerSecrets) {}

  /**
   * Seals every value for its own place. A value of `***`, which is what responses show, keeps the one of `stored`, but only
   * of a server of which nothing else changes. Pointers of issues are into the automation.
   */
  seal(uid: string, config: AgentConfig, stored: AgentConfig | null): Sealing<AgentConfig> {
    const { mcp_servers: servers } = config;
    if (servers === undefined) return { kind: 'sealed', value: config };
    const sealing = this.servers.sealAll(
      ownerOf(uid),
      servers,
      stored?.mcp_servers ?? null,
      '/agent_config/mcp_servers',
    );
    return sealing.kind === 'invalid'
      ? sealing
      : { kind: 'sealed', value: { ...config, mcp_servers: { ...sealing.value } } };
  }

  /** In clear; for the runs that it starts, never for a response. */
  open(uid: string, config: AgentConfig): AgentConfig {
    const { mcp_servers: servers } = config;
    return servers === undefined ? config : { ...config, mcp_servers: this.servers.openAll(ownerOf(uid), servers) };
  }
}

/** As responses show it: names stay, values go. */
export function maskConfig(config: AgentConfig): AgentConfig {
  const { mcp_servers: servers } = config;
  return servers === undefined
    ? config
    : { ...config, mcp_servers: mapServers(servers, (server) => mapSecrets(server, () => MASKED)) };
}

/** An automation's `mcp_servers` as stored, with every sealed value replaced by `anew`. */
export const resealConfigServers = (
  uid: string,
  stored: unknown,
  anew: (sealed: string, context: string) => string,
): unknown => resealServers(ownerOf(uid), stored as NonNullable<AgentConfig['mcp_servers']>, anew);

const ownerOf = (uid: string): string => `automation/${uid}`;
