import { Injectable } from '@nestjs/common';
import { EnvironmentDirectory, variableIssues } from '#domain/environments';
import { workerHostFault } from '#execution/worker-protocol';
import { type Issue, isUid, notAccessible, pointerOf, type RejectionOf } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { ManagedSecrets } from '#platform/secrets';
import type { IdentityChanges, IdentityFields } from '../domain/agent-identity.js';
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

const MAX_NAME = 200;
const MAX_DESCRIPTION = 2000;
const MAX_SHORT = 256;
const MAX_PROMPT_BYTES = 65_536;

/** The rules of the API, for identities that files define: what they say, and what they point at. */
@Injectable()
export class DefinedIdentityRules {
  constructor(
    private readonly environments: EnvironmentDirectory,
    private readonly servers: McpServersStore,
  ) {}

  async issues(tx: Queryable, teamUid: string, all: readonly IdentityFields[]): Promise<Issue[][]> {
    const known = await this.findServers(tx, teamUid, all);
    const environments = await this.findEnvironments(tx, teamUid, all);
    return all.map((fields) => [
      ...fieldIssues(fields),
      ...(fields.environmentId === null || environments.has(fields.environmentId)
        ? []
        : [{ pointer: '/environmentId', detail: 'must be the uid of an environment of the team' }]),
      ...[...registeredUids(fields.mcpServers ?? {})]
        .filter(([, uid]) => !known.has(uid))
        .map(([name]) => ({
          pointer: pointerOf('mcpServers', name, 'warp_id'),
          detail: 'must be the uid of an MCP server that is registered for the team',
        })),
    ]);
  }

  private async findServers(
    tx: Queryable,
    teamUid: string,
    all: readonly IdentityFields[],
  ): Promise<ReadonlySet<string>> {
    const wanted = new Set(all.flatMap(({ mcpServers }) => [...registeredUids(mcpServers ?? {}).values()]));
    const possible = [...wanted].filter(isUid);
    const found = possible.length === 0 ? [] : await this.servers.findOfTeam(teamUid, possible, tx);
    return new Set(found.map(({ uid }) => uid));
  }

  /** The team works with the identity, so a person's own environment would not do for everybody else. */
  private async findEnvironments(
    tx: Queryable,
    teamUid: string,
    all: readonly IdentityFields[],
  ): Promise<ReadonlySet<string>> {
    const wanted = new Set(all.flatMap(({ environmentId }) => (environmentId === null ? [] : [environmentId])));
    const usable = new Set<string>();
    for (const uid of wanted)
      if (await this.environments.findUsable(uid, { teamUid, caller: null }, tx)) usable.add(uid);
    return usable;
  }
}

function fieldIssues({ name, description, prompt, workerHost, baseModel }: IdentityFields): Issue[] {
  const atMost = (field: string, value: string | null, characters: number): Issue[] =>
    (value?.length ?? 0) > characters
      ? [{ pointer: `/${field}`, detail: `must not exceed ${characters} characters` }]
      : [];
  return [
    ...atMost('name', name, MAX_NAME),
    ...atMost('description', description, MAX_DESCRIPTION),
    ...hostIssues(workerHost),
    ...atMost('baseModel', baseModel, MAX_SHORT),
    ...(Buffer.byteLength(prompt ?? '') > MAX_PROMPT_BYTES
      ? [{ pointer: '/prompt', detail: `must not exceed ${MAX_PROMPT_BYTES} bytes` }]
      : []),
  ];
}

function hostIssues(workerHost: string | null): Issue[] {
  const fault = workerHost === null ? null : workerHostFault(workerHost);
  return fault === null ? [] : [{ pointer: '/workerHost', detail: fault }];
}
