import { Injectable } from '@nestjs/common';
import type { Caller, Permission } from '#platform/auth';
import { newUid } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { type RegisteredServer, registeredServerIssues, type ServerFields } from '../domain/mcp-server.js';
import { McpServersStore } from '../persistence/mcp-servers.store.js';
import { refuseTakenName } from '../persistence/name-taken.js';
import { hasRoom } from '../persistence/team-limit.js';
import { type ChangeRefusal, type CreateRefusal, type LookupRefusal, mayOnTeam } from './outcomes.js';
import { registeredOwner, ServerSecrets } from './server-secrets.js';

export const MAX_MCP_SERVERS = 200;

export type ServerLookup = { readonly kind: 'found'; readonly server: RegisteredServer } | LookupRefusal;
export type CreateServerResult = { readonly kind: 'created'; readonly server: RegisteredServer } | CreateRefusal;
export type UpdateServerResult =
  { readonly kind: 'updated'; readonly server: RegisteredServer } | LookupRefusal | ChangeRefusal;
export type DeleteServerResult = { readonly kind: 'deleted' } | LookupRefusal;

@Injectable()
export class FindMcpServers {
  constructor(private readonly store: McpServersStore) {}

  /** Through the caller's permission on the server's team. */
  async find(caller: Caller, uid: string, permission: Permission): Promise<ServerLookup> {
    const server = await this.store.find(uid);
    if (!server) return { kind: 'unknown' };
    return mayOnTeam(caller, server.teamUid, permission) ? { kind: 'found', server } : { kind: 'not_yours' };
  }

  /** Those of the teams at hand, by name. */
  list({ teamUids }: Caller): Promise<RegisteredServer[]> {
    return this.store.listFor(teamUids);
  }
}

/** Registers a server for the caller's team. */
@Injectable()
export class CreateMcpServer {
  constructor(
    private readonly database: Database,
    private readonly store: McpServersStore,
    private readonly secrets: ServerSecrets,
  ) {}

  async execute({ teamUid }: Caller, given: ServerFields): Promise<CreateServerResult> {
    if (teamUid === null) return { kind: 'team_needed' };
    const issues = registeredServerIssues(given.config);
    if (issues.length > 0) return { kind: 'invalid', issues };
    const uid = newUid();
    const sealing = this.secrets.seal(registeredOwner(uid), given.config);
    if (sealing.kind === 'invalid') return sealing;
    const fields = { ...given, config: sealing.value };
    return refuseTakenName(() =>
      this.database.transaction(async (tx): Promise<CreateServerResult> => {
        if (!(await hasRoom(tx, 'mcp_servers', teamUid, MAX_MCP_SERVERS)))
          return { kind: 'limit_reached', limit: MAX_MCP_SERVERS };
        return { kind: 'created', server: await this.store.insert(tx, uid, teamUid, fields) };
      }),
    );
  }
}

/** Replaces a server. Runs that refer to it get the new one at their next execution. */
@Injectable()
export class UpdateMcpServer {
  constructor(
    private readonly database: Database,
    private readonly find: FindMcpServers,
    private readonly store: McpServersStore,
    private readonly secrets: ServerSecrets,
  ) {}

  async execute(caller: Caller, uid: string, given: ServerFields): Promise<UpdateServerResult> {
    const lookup = await this.find.find(caller, uid, 'mcp_servers:manage');
    if (lookup.kind !== 'found') return lookup;
    const issues = registeredServerIssues(given.config);
    if (issues.length > 0) return { kind: 'invalid', issues };
    return refuseTakenName(() =>
      this.database.transaction(async (tx): Promise<UpdateServerResult> => {
        const stored = await this.store.lock(tx, uid);
        if (!stored) return { kind: 'unknown' };
        const sealing = this.secrets.seal(registeredOwner(uid), given.config, stored.config);
        if (sealing.kind === 'invalid') return sealing;
        return { kind: 'updated', server: await this.store.update(tx, uid, { ...given, config: sealing.value }) };
      }),
    );
  }
}

/** Whatever still refers to it starts no new run until that is changed. */
@Injectable()
export class DeleteMcpServer {
  constructor(
    private readonly find: FindMcpServers,
    private readonly store: McpServersStore,
  ) {}

  async execute(caller: Caller, uid: string): Promise<DeleteServerResult> {
    const lookup = await this.find.find(caller, uid, 'mcp_servers:manage');
    if (lookup.kind !== 'found') return lookup;
    return { kind: (await this.store.delete(uid)) ? 'deleted' : 'unknown' };
  }
}
