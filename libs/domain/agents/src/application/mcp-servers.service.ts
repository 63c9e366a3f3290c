import { Injectable } from '@nestjs/common';
import { type Caller, hasPermission, type Permission } from '#platform/auth';
import { newUid, type RejectionOf } from '#platform/kernel';
import { Database, isBelowTeamLimit, rejectTakenName } from '#platform/persistence';
import { type RegisteredServer, registeredServerIssues, type ServerFields } from '../domain/mcp-server.js';
import { McpServersStore } from '../persistence/mcp-servers.store.js';
import { registeredOwner, ServerSecrets } from './server-secrets.js';

export const MAX_MCP_SERVERS = 200;

type LookupRejection = RejectionOf<'not_found' | 'forbidden'>;
type InputRejection = RejectionOf<'invalid' | 'name_taken'>;
export type ServerLookup = { readonly kind: 'found'; readonly server: RegisteredServer } | LookupRejection;
export type CreateServerResult =
  | { readonly kind: 'created'; readonly server: RegisteredServer }
  | RejectionOf<'team_required' | 'limit_reached'>
  | InputRejection;
export type UpdateServerResult =
  { readonly kind: 'updated'; readonly server: RegisteredServer } | LookupRejection | InputRejection;
export type DeleteServerResult = { readonly kind: 'deleted' } | LookupRejection;

/** MCP servers that teams have registered. */
@Injectable()
export class McpServersService {
  constructor(
    private readonly database: Database,
    private readonly store: McpServersStore,
    private readonly secrets: ServerSecrets,
  ) {}

  /** The servers of the teams of the request, by name. */
  list({ teamUids }: Caller): Promise<RegisteredServer[]> {
    return this.store.listFor(teamUids);
  }

  /** Loads a server through the caller's permission on its team. */
  async get(caller: Caller, uid: string, permission: Permission): Promise<ServerLookup> {
    const server = await this.store.find(uid);
    if (!server) return { kind: 'not_found' };
    return hasPermission(caller, server.teamUid, permission) ? { kind: 'found', server } : { kind: 'forbidden' };
  }

  async create({ teamUid }: Caller, given: ServerFields): Promise<CreateServerResult> {
    if (teamUid === null) return { kind: 'team_required' };
    const issues = registeredServerIssues(given.config);
    if (issues.length > 0) return { kind: 'invalid', issues };
    const uid = newUid();
    const sealing = this.secrets.seal(registeredOwner(uid), given.config);
    if (sealing.kind === 'invalid') return sealing;
    const fields = { ...given, config: sealing.value };
    return rejectTakenName(() =>
      this.database.transaction(async (tx): Promise<CreateServerResult> => {
        if (!(await isBelowTeamLimit(tx, 'mcp_servers', teamUid, MAX_MCP_SERVERS)))
          return { kind: 'limit_reached', limit: MAX_MCP_SERVERS };
        return { kind: 'created', server: await this.store.insert(tx, uid, teamUid, fields) };
      }),
    );
  }

  /** Replaces a server. Runs that refer to it use the new one from their next execution on. */
  async update(caller: Caller, uid: string, given: ServerFields): Promise<UpdateServerResult> {
    const lookup = await this.get(caller, uid, 'mcp_servers:manage');
    if (lookup.kind !== 'found') return lookup;
    const issues = registeredServerIssues(given.config);
    if (issues.length > 0) return { kind: 'invalid', issues };
    return rejectTakenName(() =>
      this.database.transaction(async (tx): Promise<UpdateServerResult> => {
        const stored = await this.store.lock(tx, uid);
        if (!stored) return { kind: 'not_found' };
        const sealing = this.secrets.seal(registeredOwner(uid), given.config, stored.config);
        if (sealing.kind === 'invalid') return sealing;
        return { kind: 'updated', server: await this.store.update(tx, uid, { ...given, config: sealing.value }) };
      }),
    );
  }

  /** A configuration that still refers to it starts no new run until the reference is removed. */
  async delete(caller: Caller, uid: string): Promise<DeleteServerResult> {
    const lookup = await this.get(caller, uid, 'mcp_servers:manage');
    if (lookup.kind !== 'found') return lookup;
    return { kind: (await this.store.delete(uid)) ? 'deleted' : 'not_found' };
  }
}
