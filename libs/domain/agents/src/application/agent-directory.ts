import { Injectable } from '@nestjs/common';
import { isUid } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import type { AgentIdentity } from '../domain/agent-identity.js';
import type { McpServerConfig } from '../domain/mcp-server.js';
import { IdentitiesStore } from '../persistence/identities.store.js';
import { McpServersStore } from '../persistence/mcp-servers.store.js';
import { identityOwner, registeredOwner, ServerSecrets } from './server-secrets.js';

/** What other rooms may ask about agents. `queryable`: the caller's transaction. */
export abstract class AgentDirectory {
  /** null when unknown, foreign to the team, or deleted. One round trip. */
  abstract findIdentity(uid: string, teamUid: string, queryable?: Queryable): Promise<AgentIdentity | null>;
  /** Registered servers of the team among `uids`, with env and headers opened. */
  abstract findMcpServers(
    teamUid: string,
    uids: readonly string[],
    queryable?: Queryable,
  ): Promise<ReadonlyMap<string, McpServerConfig>>;
}

@Injectable()
export class StoredAgentDirectory extends AgentDirectory {
  constructor(
    private readonly identities: IdentitiesStore,
    private readonly servers: McpServersStore,
    private readonly secrets: ServerSecrets,
  ) {
    super();
  }

  override async findIdentity(uid: string, teamUid: string, queryable?: Queryable): Promise<AgentIdentity | null> {
    const found = isUid(uid) ? await this.identities.find(uid, queryable) : null;
    if (found?.teamUid !== teamUid) return null;
    const { factoryUid, name, prompt, environmentId, workerHost } = found;
    const { baseModel, harness, skills, mcpServers, secrets, available } = found;
    return {
      uid,
      teamUid,
      factoryUid,
      name,
      prompt,
      environmentId,
      workerHost,
      baseModel,
      harness,
      skills,
      mcpServers: mcpServers && this.secrets.openAll(identityOwner(uid), mcpServers),
      secrets,
      available,
    };
  }

  override async findMcpServers(
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
