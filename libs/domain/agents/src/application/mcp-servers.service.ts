import { Injectable } from '@nestjs/common';
import { type Caller, isAllowed } from '#platform/auth';
import { newUid } from '#platform/kernel';
import { Database, isBelowOwnerLimit, rejectTakenName } from '#platform/persistence';
import { type RegisteredServer, registeredServerIssues, type ServerFields } from '../domain/mcp-server.js';
import { McpServersStore } from '../persistence/mcp-servers.store.js';
import { registeredOwner, ServerSecrets } from './server-secrets.js';

const MAX_MCP_SERVERS = 200;

@Injectable()
export class McpServersService {
  constructor(
    private readonly database: Database,
    private readonly store: McpServersStore,
    private readonly secrets: ServerSecrets,
  ) {}

  list({ teamUids }: Caller): Promise<RegisteredServer[]> {
    return this.store.listFor(teamUids);
  }

  async get(caller: Caller, uid: string) {
    const server = await this.store.find(uid);
    if (!server) return { kind: 'not_found' as const };
    const isPermitted = isAllowed(caller, { teamUid: server.teamUid, userUid: null });
    return isPermitted ? { kind: 'found' as const, server } : { kind: 'forbidden' as const };
  }

  async create({ teamUid }: Caller, given: ServerFields) {
    if (teamUid === null) return { kind: 'team_required' as const };
    const issues = registeredServerIssues(given.config);
    if (issues.length > 0) return { kind: 'invalid' as const, issues };
    const uid = newUid();
    const sealing = this.secrets.seal(registeredOwner(uid), given.config);
    if (sealing.kind === 'invalid') return sealing;
    const fields = { ...given, config: sealing.value };
    return rejectTakenName(() =>
      this.database.transaction(async (tx) => {
        if (!(await isBelowOwnerLimit(tx, 'mcp_servers', { teamUid, userUid: null }, MAX_MCP_SERVERS)))
          return { kind: 'limit_reached' as const, limit: MAX_MCP_SERVERS };
        return { kind: 'created' as const, server: await this.store.insert(tx, uid, teamUid, fields) };
      }),
    );
  }

  /** Replaces a server. Runs that refer to it use the new one from their next execution on. */
  async update(caller: Caller, uid: string, given: ServerFields) {
    const lookup = await this.get(caller, uid);
    if (lookup.kind !== 'found') return lookup;
    const issues = registeredServerIssues(given.config);
    if (issues.length > 0) return { kind: 'invalid' as const, issues };
    return rejectTakenName(() =>
      this.database.transaction(async (tx) => {
        const stored = await this.store.lock(tx, uid);
        if (!stored) return { kind: 'not_found' as const };
        const sealing = this.secrets.seal(registeredOwner(uid), given.config, stored.config);
        if (sealing.kind === 'invalid') return sealing;
        const server = await this.store.update(tx, uid, { ...given, config: sealing.value });
        return { kind: 'updated' as const, server };
      }),
    );
  }

  /** A configuration that still refers to it starts no new run until the reference is removed. */
  async delete(caller: Caller, uid: string) {
    const lookup = await this.get(caller, uid);
    if (lookup.kind !== 'found') return lookup;
    return (await this.store.delete(uid)) ? { kind: 'deleted' as const } : { kind: 'not_found' as const };
  }
}
