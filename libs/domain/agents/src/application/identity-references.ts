import { Injectable } from '@nestjs/common';
import { EnvironmentDirectory, variableIssues } from '#domain/environments';
import { isUid, notAccessible, pointerOf, type RejectionOf } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { ManagedSecrets } from '#platform/secrets';
import type { IdentityChanges } from '../domain/agent-identity.js';
import { type McpServers, registeredUids, serverIssues } from '../domain/mcp-server.js';
import { McpServersStore } from '../persistence/mcp-servers.store.js';

/** Checks what the fields of an identity refer to. */
@Injectable()
export class IdentityReferences {
  constructor(
    private readonly environments: EnvironmentDirectory,
    private readonly servers: McpServersStore,
    private readonly database: Database,
    private readonly secrets: ManagedSecrets,
  ) {}

  /** Null when an identity of the team may have these. Only fields that change are checked. */
  async check(
    teamUid: string,
    { environmentId, mcpServers, secrets = [] }: IdentityChanges,
  ): Promise<RejectionOf<'invalid' | 'not_accessible'> | null> {
    const issues = [
      ...(mcpServers ? serverIssues(mcpServers, '/mcp_servers') : []),
      ...variableIssues({ secrets: secrets.map((name) => ({ name })) }),
    ];
    if (issues.length > 0) return { kind: 'invalid', issues };
    // All members use the identity, so a personal environment is not usable.
    if (environmentId && !(await this.environments.findUsable(environmentId, { teamUid, caller: null })))
      return inaccessible('/environment_id', 'an environment');
    const known = secrets.length === 0 ? null : await this.secrets.versionsForRuns(this.database, teamUid, secrets);
    const unknown = secrets.findIndex((name) => known?.has(name) !== true);
    if (unknown >= 0) return inaccessible(`/secrets/${unknown}/name`, 'a managed secret');
    const unregistered = mcpServers ? await this.findUnregistered(teamUid, mcpServers) : null;
    return unregistered === null
      ? null
      : inaccessible(pointerOf('mcp_servers', unregistered, 'warp_id'), 'an MCP server');
  }

  private async findUnregistered(teamUid: string, mcpServers: McpServers): Promise<string | null> {
    const wanted = registeredUids(mcpServers);
    const possible = [...wanted.values()].filter(isUid);
    const found = possible.length === 0 ? [] : await this.servers.findOfTeam(teamUid, possible);
    const known = new Set(found.map(({ uid }) => uid));
    return [...wanted].find(([, uid]) => !known.has(uid))?.[0] ?? null;
  }
}

const inaccessible = (pointer: string, noun: string): RejectionOf<'not_accessible'> => ({
  kind: 'not_accessible',
  issues: [{ pointer, detail: notAccessible(noun) }],
});
