import { Injectable } from '@nestjs/common';
import { EnvironmentDirectory } from '#domain/environments';
import { isUid } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { workerHostFault } from '#execution/worker-protocol';
import type { IdentityFields } from '../domain/agent-identity.js';
import type { IdentityIssue } from '../domain/defined-identity.js';
import { pointerToken, registeredUids } from '../domain/mcp-server.js';
import { McpServersStore } from '../persistence/mcp-servers.store.js';

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

  async issues(tx: Queryable, teamUid: string, all: readonly IdentityFields[]): Promise<IdentityIssue[][]> {
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
          pointer: `/mcpServers/${pointerToken(name)}/warp_id`,
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

function fieldIssues({ name, description, prompt, workerHost, baseModel }: IdentityFields): IdentityIssue[] {
  const atMost = (field: string, value: string | null, characters: number): IdentityIssue[] =>
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

function hostIssues(workerHost: string | null): IdentityIssue[] {
  const fault = workerHost === null ? null : workerHostFault(workerHost);
  return fault === null ? [] : [{ pointer: '/workerHost', detail: fault }];
}
