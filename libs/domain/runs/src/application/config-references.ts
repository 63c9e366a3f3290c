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
    return [
      ...(await this.checkSecrets(use, config, queryable)),
      ...(await this.checkServers(use, config, queryable)),
      ...(await this.checkEnvironment(use, config, queryable)),
    ];
  }

  private async checkServers(
    { teamUid }: ConfigUse,
    { mcp_servers }: AgentConfig,
    queryable?: Queryable,
  ): Promise<Issue[]> {
    const asked = Object.entries(mcp_servers ?? {}).flatMap(([name, { warp_id: uid }]) =>
      uid === undefined ? [] : [{ name, uid }],
    );
    if (asked.length === 0) return [];
    const uids = asked.map(({ uid }) => uid);
    const known = teamUid === null ? null : await this.agents.findMcpServers(teamUid, uids, queryable);
    return asked
      .filter(({ uid }) => known?.has(uid) !== true)
      .map(({ name }) => ({
        pointer: pointerOf('mcp_servers', name, 'warp_id'),
        detail: notAccessible('an MCP server'),
      }));
  }

  /** A person's own runs have no managed secrets: they belong to teams. */
  private async checkSecrets(
    { teamUid }: ConfigUse,
    { harness_auth_secrets: named = {} }: AgentConfig,
    queryable: Queryable = this.database,
  ): Promise<Issue[]> {
    const names = [...new Set(Object.values(named))];
    if (names.length === 0) return [];
    const known = teamUid === null ? null : await this.secrets.versionsForRuns(queryable, teamUid, names);
    return Object.entries(named)
      .filter(([, name]) => known?.has(name) !== true)
      .map(([field]) => ({
        pointer: `/harness_auth_secrets/${field}`,
        detail: notAccessible('a managed secret'),
      }));
  }

  private async checkEnvironment(
    use: ConfigUse,
    { environment_id: uid }: AgentConfig,
    queryable?: Queryable,
  ): Promise<Issue[]> {
    if (uid === undefined) return [];
    if ((await this.environments.findUsable(uid, use, queryable)) !== null) return [];
    return [{ pointer: '/environment_id', detail: notAccessible('an environment') }];
  }
}
