import { Injectable } from '@nestjs/common';
import { EnvironmentDirectory, variableIssues } from '#domain/environments';
import { workerHostFault } from '#execution/worker-protocol';
import { type Issue, isUid, notAccessible, pointerOf, type RejectionOf } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { ManagedSecrets } from '#platform/secrets';
import type { IdentityChanges, IdentityFields } from '../domain/agent-identity.js';
import { type McpServers, registeredUids, serverIssues } from '../domain/mcp-server.js';
import { McpServersStore } from '../persistence/mcp-servers.store.js';

const MAX_NAME = 200;
const MAX_DESCRIPTION = 2000;
const MAX_SHORT = 256;
const MAX_PROMPT_BYTES = 65_536;

@Injectable()
export class IdentityRules {
  constructor(
    private readonly environments: EnvironmentDirectory,
    private readonly servers: McpServersStore,
    private readonly database: Database,
    private readonly secrets: ManagedSecrets,
  ) {}

  /** Null when an identity of the team may have these. Only fields that change are checked; DTOs have checked the values. */
  async check(
    teamUid: string,
    { environmentId, mcpServers, secrets = [] }: IdentityChanges,
  ): Promise<RejectionOf<'invalid' | 'not_accessible'> | null> {
    const issues = [
      ...(mcpServers ? serverIssues(mcpServers, '/mcp_servers') : []),
      ...variableIssues({ secrets: secrets.map((name) => ({ name })) }),
    ];
    if (issues.length > 0) return { kind: 'invalid', issues };
    if (environmentId && !(await this.isUsable(environmentId, teamUid)))
      return inaccessible('/environment_id', 'an environment');
    const known = secrets.length === 0 ? null : await this.secrets.versionsForRuns(this.database, teamUid, secrets);
    const unknown = secrets.findIndex((name) => known?.has(name) !== true);
    if (unknown >= 0) return inaccessible(`/secrets/${unknown}/name`, 'a managed secret');
    const [unregistered] = unregisteredIn(mcpServers, await this.registeredAmong(teamUid, [mcpServers]));
    return unregistered === undefined
      ? null
      : inaccessible(pointerOf('mcp_servers', unregistered, 'warp_id'), 'an MCP server');
  }

  /** The issues of each identity that the files of a factory define; no DTO has checked their values. */
  async issuesOfDefined(tx: Queryable, teamUid: string, all: readonly IdentityFields[]): Promise<Issue[][]> {
    const servers = all.map(({ mcpServers }) => mcpServers);
    const registered = await this.registeredAmong(teamUid, servers, tx);
    const usable = new Set<string | null>([null]);
    for (const uid of new Set(all.map(({ environmentId }) => environmentId)))
      if (uid !== null && (await this.isUsable(uid, teamUid, tx))) usable.add(uid);
    return all.map((fields) => [
      ...fieldIssues(fields),
      ...(usable.has(fields.environmentId)
        ? []
        : [{ pointer: '/environmentId', detail: 'must be the uid of an environment of the team' }]),
      ...unregisteredIn(fields.mcpServers, registered).map((name) => ({
        pointer: pointerOf('mcpServers', name, 'warp_id'),
        detail: 'must be the uid of an MCP server that is registered for the team',
      })),
    ]);
  }

  /** All members use the identity, so a personal environment is not usable. */
  private async isUsable(environmentUid: string, teamUid: string, queryable?: Queryable): Promise<boolean> {
    return (await this.environments.findUsable(environmentUid, { teamUid, caller: null }, queryable)) !== null;
  }

  private async registeredAmong(
    teamUid: string,
    all: readonly (McpServers | null | undefined)[],
    queryable?: Queryable,
  ): Promise<ReadonlySet<string>> {
    const uids = new Set(all.flatMap((servers) => [...registeredUids(servers ?? {}).values()]).filter(isUid));
    const found = uids.size === 0 ? [] : await this.servers.findOfTeam(teamUid, [...uids], queryable);
    return new Set(found.map(({ uid }) => uid));
  }
}

const unregisteredIn = (servers: McpServers | null | undefined, registered: ReadonlySet<string>): string[] =>
  [...registeredUids(servers ?? {})].filter(([, uid]) => !registered.has(uid)).map(([name]) => name);

const inaccessible = (pointer: string, noun: string): RejectionOf<'not_accessible'> => ({
  kind: 'not_accessible',
  issues: [{ pointer, detail: notAccessible(noun) }],
});

function fieldIssues({ name, description, prompt, workerHost, baseModel }: IdentityFields): Issue[] {
  const atMost = (field: string, value: string | null, characters: number): Issue[] =>
    (value?.length ?? 0) > characters
      ? [{ pointer: `/${field}`, detail: `must not exceed ${characters} characters` }]
      : [];
  const hostFault = workerHost === null ? null : workerHostFault(workerHost);
  return [
    ...atMost('name', name, MAX_NAME),
    ...atMost('description', description, MAX_DESCRIPTION),
    ...(hostFault === null ? [] : [{ pointer: '/workerHost', detail: hostFault }]),
    ...atMost('baseModel', baseModel, MAX_SHORT),
    ...(Buffer.byteLength(prompt ?? '') > MAX_PROMPT_BYTES
      ? [{ pointer: '/prompt', detail: `must not exceed ${MAX_PROMPT_BYTES} bytes` }]
      : []),
  ];
}
