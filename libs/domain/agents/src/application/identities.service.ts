import { Injectable } from '@nestjs/common';
import { type Caller, isAllowed, ServiceAccountsService } from '#platform/auth';
import { newUid } from '#platform/kernel';
import { Database, isBelowOwnerLimit, rejectTakenName } from '#platform/persistence';
import { type AgentIdentity, BLANK_IDENTITY, type IdentityChanges } from '../domain/agent-identity.js';
import type { McpServers } from '../domain/mcp-server.js';
import { IdentitiesStore } from '../persistence/identities.store.js';
import { IdentityRules } from './identity-rules.js';
import { identityOwner, type Sealing, ServerSecrets } from './server-secrets.js';

export const MAX_IDENTITIES = 1000;

@Injectable()
export class IdentitiesService {
  constructor(
    private readonly database: Database,
    private readonly store: IdentitiesStore,
    private readonly accounts: ServiceAccountsService,
    private readonly rules: IdentityRules,
    private readonly secrets: ServerSecrets,
  ) {}

  /** The identities of the teams of the request, by name; prompts are cut. `factoryUid`: only those that its definition manages. */
  list({ teamUids }: Caller, factoryUid?: string): Promise<AgentIdentity[]> {
    return this.store.listFor(teamUids, factoryUid ?? null);
  }

  async get(caller: Caller, uid: string) {
    const identity = await this.store.find(uid);
    if (!identity) return { kind: 'not_found' as const };
    const isPermitted = isAllowed(caller, { teamUid: identity.teamUid, userUid: null });
    return isPermitted ? { kind: 'found' as const, identity } : { kind: 'forbidden' as const };
  }

  async create({ teamUid }: Caller, name: string, given: IdentityChanges) {
    if (teamUid === null) return { kind: 'team_required' as const };
    const rejection = await this.rules.check(teamUid, given);
    if (rejection) return rejection;
    const uid = newUid();
    const sealing = this.sealServers(uid, given.mcpServers ?? null, null);
    if (sealing.kind === 'invalid') return sealing;
    const fields = { ...BLANK_IDENTITY, ...given, name, mcpServers: sealing.value };
    return rejectTakenName(() =>
      this.database.transaction(async (tx) => {
        if (!(await isBelowOwnerLimit(tx, 'agent_identities', { teamUid, userUid: null }, MAX_IDENTITIES)))
          return { kind: 'limit_reached' as const, limit: MAX_IDENTITIES };
        await this.accounts.createForIdentity(tx, { uid, teamUid, name });
        const identity = await this.store.insert(tx, uid, { teamUid, factoryUid: null }, fields);
        return { kind: 'created' as const, identity };
      }),
    );
  }

  /** Existing runs keep the configuration that was resolved for them. */
  async update(caller: Caller, uid: string, changes: IdentityChanges) {
    const lookup = await this.get(caller, uid);
    if (lookup.kind !== 'found') return lookup;
    const rejection = await this.rules.check(lookup.identity.teamUid, changes);
    if (rejection) return rejection;
    return rejectTakenName(() =>
      this.database.transaction(async (tx) => {
        const stored = await this.store.lock(tx, uid);
        if (!stored) return { kind: 'not_found' as const };
        const sealing: Sealing<McpServers | null> =
          changes.mcpServers === undefined
            ? { kind: 'sealed', value: stored.mcpServers }
            : this.sealServers(uid, changes.mcpServers, stored.mcpServers);
        if (sealing.kind === 'invalid') return sealing;
        const fields = { ...stored, ...changes, mcpServers: sealing.value };
        if (fields.name !== stored.name) await this.accounts.rename(tx, uid, fields.name);
        return { kind: 'updated' as const, identity: await this.store.update(tx, uid, stored.teamUid, fields) };
      }),
    );
  }

  /** Its tokens become invalid. Past runs keep its name. */
  async delete(caller: Caller, uid: string) {
    const lookup = await this.get(caller, uid);
    if (lookup.kind !== 'found') return lookup;
    return this.database.transaction(async (tx) => {
      if (!(await this.store.delete(tx, uid))) return { kind: 'not_found' as const };
      await this.accounts.disable(tx, uid);
      return { kind: 'deleted' as const };
    });
  }

  private sealServers(uid: string, servers: McpServers | null, stored: McpServers | null): Sealing<McpServers | null> {
    return servers === null
      ? { kind: 'sealed', value: null }
      : this.secrets.sealAll(identityOwner(uid), servers, stored, '/mcp_servers');
  }
}
