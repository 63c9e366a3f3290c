import { Injectable } from '@nestjs/common';
import { AgentDirectory } from '#domain/agents';
import type { McpServerConfig, Run } from '../../domain/run.js';
import { McpSecrets } from '../mcp-secrets.js';

/** A run's MCP servers with their values in clear: for the runner, never for a response. */
@Injectable()
export class RunServers {
  constructor(
    private readonly agents: AgentDirectory,
    private readonly secrets: McpSecrets,
  ) {}

  /** The team's are looked up. Null: one is not registered any more. */
  async of(run: Run): Promise<Record<string, McpServerConfig> | null> {
    const own = this.secrets.open(run.id, run.config).mcp_servers ?? {};
    const uids = Object.values(own).flatMap(({ warp_id: uid }) => (uid === undefined ? [] : [uid]));
    if (uids.length === 0) return own;
    if (run.owner.teamUid === null) return null;
    const registered = await this.agents.findMcpServers(run.owner.teamUid, uids);
    if (!uids.every((uid) => registered.has(uid))) return null;
    return Object.fromEntries(
      Object.entries(own).map(([name, server]) => [
        name,
        server.warp_id === undefined ? server : (registered.get(server.warp_id) ?? server),
      ]),
    );
  }
}
