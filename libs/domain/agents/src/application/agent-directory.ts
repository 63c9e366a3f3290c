import { Injectable } from '@nestjs/common';
import { isUid } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import type { AgentIdentity } from '../domain/agent-identity.js';
import type { McpServerConfig } from '../domain/mcp-server.js';
import { IdentitiesStore } from '../persistence/identities.store.js';
import { McpServersStore } from '../persistence/mcp-servers.store.js';
import { identityOwner, registeredOwner, ServerSecrets } from './server-secrets.js';

/** Identities and registered MCP servers for other libraries. `queryable`: the caller's transaction. */
@Injectable()
export class AgentDirectory {
  constructor(
    private readonly identities: IdentitiesStore,
    private readonly servers: McpServersStore,
    private readonly secrets: ServerSecrets,
  ) {}

  /** With `env` and `headers` in clear. Null when it is unknown, belongs to another team, or is deleted. One round trip. */
  async findIdentity(uid: string, teamUid: string, queryable?: Queryable): Promise<AgentIdentity | null> {
    const found = isUid(uid) ? await this.identities.find(uid, queryable) : null;
    if (found?.teamUid !== teamUid) return null;
    const { mcpServers } = found;
    return { ...found, mcpServers: mcpServers && this.secrets.openAll(identityOwner(uid), mcpServers) };
  }

  /** The registered servers of the team among `uids`, with env and headers in clear. */
  async findMcpServers(
    teamUid: string,
    uids: readonly string[],
    queryable?: Queryable,
  ): Promise<ReadonlyMap<string, McpServerConfig>> {
    const possible = uids.filter(isUid);
    if (possible.length === 0) return new Map();
    const found = await this.servers.findOfTeam(teamUid, possible, queryable);
    return new Map(found.map(({ uid, config }) => [uid, this.secrets.open(registeredOwner(uid), config)]));
  }
}
