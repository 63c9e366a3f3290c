import { Injectable } from '@nestjs/common';
import { AgentDirectory } from '#domain/agents';
import type { Caller } from '#platform/auth';
import { EnvironmentDirectory } from '#domain/environments';
import { type Issue, notAccessible, pointerOf } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { ManagedSecrets } from '#platform/secrets';
import type { AgentConfig } from '#execution/executions';

/** Whose runs are to have the configuration. */
export interface ConfigUse {
  /** Null: a person's own runs. */
  readonly teamUid: string | null;
  /** Null: no person; then only what belongs to the team itself, or was shared with it, is usable. */
  readonly caller: Caller | null;
}

/** Follows what a configuration names: environment, registered MCP servers, managed secrets. */
@Injectable()
export class ConfigReferences {
  constructor(
    private readonly agents: AgentDirectory,
    private readonly environments: EnvironmentDirectory,
    private readonly database: Database,
    private readonly secrets: ManagedSecrets,
  ) {}

  /** Empty when runs may have it. No round trip when nothing is named; `queryable`: the caller's transaction. */
  async check(use: ConfigUse, config: AgentConfig, queryable?: Queryable): Promise<Issue[]> {
    const { teamUid } = use;
    const { harness_auth_secrets: named = {}, mcp_servers: servers = {}, environment_id: environmentUid } = config;
    const issues: Issue[] = [];
    // A person's own runs have neither managed secrets nor registered servers: those belong to teams.
    const secrets = [...new Set(Object.values(named))];
    const knownSecrets =
      secrets.length > 0 && teamUid !== null
        ? await this.secrets.versionsForRuns(queryable ?? this.database, teamUid, secrets)
        : null;
    for (const [field, name] of Object.entries(named))
      if (knownSecrets?.has(name) !== true)
        issues.push({ pointer: `/harness_auth_secrets/${field}`, detail: notAccessible('a managed secret') });
    const uids = Object.values(servers).flatMap(({ warp_id: uid }) => uid ?? []);
    const knownServers =
      uids.length > 0 && teamUid !== null ? await this.agents.findMcpServers(teamUid, uids, queryable) : null;
    for (const [name, { warp_id: uid }] of Object.entries(servers))
      if (uid !== undefined && knownServers?.has(uid) !== true)
        issues.push({ pointer: pointerOf('mcp_servers', name, 'warp_id'), detail: notAccessible('an MCP server') });
    if (environmentUid !== undefined && !(await this.environments.findUsable(environmentUid, use, queryable)))
      issues.push({ pointer: '/environment_id', detail: notAccessible('an environment') });
    return issues;
  }
}
