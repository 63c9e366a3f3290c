import { Injectable } from '@nestjs/common';
import { EnvironmentDirectory } from '#libs/environments';
import { isUid } from '#libs/kernel';
import type { IdentityChanges } from '../domain/agent-identity.js';
import { type McpServers, registeredUids, serverIssues } from '../domain/mcp-server.js';
import { McpServersStore } from '../persistence/mcp-servers.store.js';
import type { ChangeRefusal } from './outcomes.js';

/** What the fields of an identity point at. */
@Injectable()
export class IdentityReferences {
  constructor(
    private readonly environments: EnvironmentDirectory,
    private readonly servers: McpServersStore,
  ) {}

  /** null when an identity of the team may have these. Only what is about to change is looked at. */
  async check(teamUid: string, { environmentId, mcpServers }: IdentityChanges): Promise<ChangeRefusal | null> {
    const issues = mcpServers ? serverIssues(mcpServers, '/mcp_servers') : [];
    if (issues.length > 0) return { kind: 'invalid', issues };
    // The team works with the identity, so a person's own environment would not do for everybody else.
    if (environmentId && !(await this.environments.findUsable(environmentId, { teamUid, caller: null })))
      return refused('environment_id names no environment of the team.');
    const unregistered = mcpServers ? await this.findUnregistered(teamUid, mcpServers) : null;
    return unregistered === null
      ? null
      : refused(`mcp_servers.${unregistered}.warp_id names no MCP server registered for the team.`);
  }

  private async findUnregistered(teamUid: string, mcpServers: McpServers): Promise<string | null> {
    const wanted = registeredUids(mcpServers);
    const possible = [...wanted.values()].filter(isUid);
    const found = possible.length === 0 ? [] : await this.servers.findOfTeam(teamUid, possible);
    const known = new Set(found.map(({ uid }) => uid));
    return [...wanted].find(([, uid]) => !known.has(uid))?.[0] ?? null;
  }
}

const refused = (detail: string): ChangeRefusal => ({ kind: 'not_authorized', detail });
