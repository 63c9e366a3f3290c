import { Injectable } from '@nestjs/common';
import {
  type Caller,
  hasPermission,
  type Permission,
  ServiceAccountsService,
  TokenAuthenticator,
} from '#platform/auth';
import { newUid, type RejectionOf } from '#platform/kernel';
import { Database, isBelowTeamLimit, type Queryable, rejectTakenName } from '#platform/persistence';
import { IdentityReferences } from './identity-rules.js';
import { identityOwner, type Sealing, ServerSecrets } from './server-secrets.js';
import {
  BLANK_IDENTITY,
  type IdentityChanges,
  type IdentityFields,
  type StoredIdentity,
} from '../domain/agent-identity.js';
import type { McpServers } from '../domain/mcp-server.js';
import { IdentitiesStore } from '../persistence/identities.store.js';

export const MAX_IDENTITIES = 1000;

type LookupRejection = RejectionOf<'not_found' | 'forbidden'>;
type InputRejection = RejectionOf<'invalid' | 'not_accessible'> | RejectionOf<'name_taken'>;
export type IdentityLookup = { readonly kind: 'found'; readonly identity: StoredIdentity } | LookupRejection;
export type CreateIdentityResult =
  | { readonly kind: 'created'; readonly identity: StoredIdentity }
  | RejectionOf<'team_required' | 'limit_reached'>
  | InputRejection;
export type UpdateIdentityResult =
  { readonly kind: 'updated'; readonly identity: StoredIdentity } | LookupRejection | InputRejection;
export type DeleteIdentityResult = { readonly kind: 'deleted' } | LookupRejection;

/** Agent identities. Each has a service account of the same uid. */
@Injectable()
export class IdentitiesService {
  constructor(
    private readonly database: Database,
    private readonly store: IdentitiesStore,
    private readonly accounts: ServiceAccountsService,
    private readonly tokens: TokenAuthenticator,
    private readonly references: IdentityReferences,
    private readonly secrets: ServerSecrets,
  ) {}

  /** The identities of the teams of the request, by name; prompts are cut. `factoryUid`: only those that its definition manages. */
  list({ teamUids }: Caller, factoryUid?: string): Promise<StoredIdentity[]> {
    return this.store.listFor(teamUids, factoryUid ?? null);
  }

  /** Loads an identity through the caller's permission on its team. */
  async get(caller: Caller, uid: string, permission: Permission): Promise<IdentityLookup> {
    const identity = await this.store.find(uid);
    if (!identity) return { kind: 'not_found' };
    return hasPermission(caller, identity.teamUid, permission) ? { kind: 'found', identity } : { kind: 'forbidden' };
  }

  /** Creates the identity and its service account in one transaction. */
  async create(
    caller: Caller,
    { name, ...given }: IdentityChanges & Pick<IdentityFields, 'name'>,
  ): Promise<CreateIdentityResult> {
    const { teamUid } = caller;
    if (teamUid === null) return { kind: 'team_required' };
    const rejection = await this.references.check(teamUid, given);
    if (rejection) return rejection;
    const uid = newUid();
    const sealing = this.sealServers(uid, given.mcpServers ?? null, null);
    if (sealing.kind === 'invalid') return sealing;
    const fields = { ...BLANK_IDENTITY, ...given, name, mcpServers: sealing.value };
    return rejectTakenName(() =>
      this.database.transaction(async (tx): Promise<CreateIdentityResult> => {
        if (!(await isBelowTeamLimit(tx, 'agent_identities', teamUid, MAX_IDENTITIES)))
          return { kind: 'limit_reached', limit: MAX_IDENTITIES };
        await this.accounts.createForIdentity(tx, { uid, teamUid, name });
        return { kind: 'created', identity: await this.store.insert(tx, uid, { teamUid, factoryUid: null }, fields) };
      }),
    );
  }

  /** Existing runs keep the configuration that was resolved for them. */
  async update(caller: Caller, uid: string, changes: IdentityChanges): Promise<UpdateIdentityResult> {
    const lookup = await this.get(caller, uid, 'identities:manage');
    if (lookup.kind !== 'found') return lookup;
    const rejection = await this.references.check(lookup.identity.teamUid, changes);
    if (rejection) return rejection;
    return rejectTakenName(() => this.database.transaction((tx) => this.updateWithin(tx, uid, changes)));
  }

  private async updateWithin(tx: Queryable, uid: string, changes: IdentityChanges): Promise<UpdateIdentityResult> {
    const stored = await this.store.lock(tx, uid);
    if (!stored) return { kind: 'not_found' };
    const sealing: Sealing<McpServers | null> =
      changes.mcpServers === undefined
        ? { kind: 'sealed', value: stored.mcpServers }
        : this.sealServers(uid, changes.mcpServers, stored.mcpServers);
    if (sealing.kind === 'invalid') return sealing;
    const fields = { ...stored, ...changes, mcpServers: sealing.value };
    if (fields.name !== stored.name) await this.accounts.rename(tx, uid, fields.name);
    return { kind: 'updated', identity: await this.store.update(tx, uid, stored.teamUid, fields) };
  }

  /**
   * Deletes the identity. Its tokens become invalid in this process at once, in others within a second. The service account
   * stays, disabled, so that past runs keep its name.
   */
  async delete(caller: Caller, uid: string): Promise<DeleteIdentityResult> {
    const lookup = await this.get(caller, uid, 'identities:manage');
    if (lookup.kind !== 'found') return lookup;
    const result = await this.database.transaction(async (tx): Promise<DeleteIdentityResult> => {
      if (!(await this.store.delete(tx, uid))) return { kind: 'not_found' };
      await this.accounts.disable(tx, uid);
      return { kind: 'deleted' };
    });
    this.tokens.clearCache();
    return result;
  }

  private sealServers(uid: string, servers: McpServers | null, stored: McpServers | null): Sealing<McpServers | null> {
    return servers === null
      ? { kind: 'sealed', value: null }
      : this.secrets.sealAll(identityOwner(uid), servers, stored, '/mcp_servers');
  }
}
