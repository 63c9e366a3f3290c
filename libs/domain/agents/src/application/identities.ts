import { Injectable } from '@nestjs/common';
import { type Caller, type Permission, ServiceAccountsService, TokenAuthenticator } from '#platform/auth';
import { newUid } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import {
  BLANK_IDENTITY,
  type IdentityChanges,
  type IdentityFields,
  type StoredIdentity,
} from '../domain/agent-identity.js';
import type { McpServers } from '../domain/mcp-server.js';
import { IdentitiesStore } from '../persistence/identities.store.js';
import { refuseTakenName } from '../persistence/name-taken.js';
import { hasRoom } from '../persistence/team-limit.js';
import { IdentityReferences } from './identity-references.js';
import { type ChangeRefusal, type CreateRefusal, type LookupRefusal, mayOnTeam } from './outcomes.js';
import { identityOwner, type Sealing, ServerSecrets } from './server-secrets.js';

export const MAX_IDENTITIES = 1000;

export type IdentityLookup = { readonly kind: 'found'; readonly identity: StoredIdentity } | LookupRefusal;
export type CreateIdentityResult = { readonly kind: 'created'; readonly identity: StoredIdentity } | CreateRefusal;
export type UpdateIdentityResult =
  { readonly kind: 'updated'; readonly identity: StoredIdentity } | LookupRefusal | ChangeRefusal;
export type DeleteIdentityResult = { readonly kind: 'deleted' } | LookupRefusal;

@Injectable()
export class FindIdentities {
  constructor(private readonly store: IdentitiesStore) {}

  /** Through the caller's permission on the identity's team. */
  async find(caller: Caller, uid: string, permission: Permission): Promise<IdentityLookup> {
    const identity = await this.store.find(uid);
    if (!identity) return { kind: 'unknown' };
    return mayOnTeam(caller, identity.teamUid, permission) ? { kind: 'found', identity } : { kind: 'not_yours' };
  }

  /** Those of the teams of the request, by name; prompts are cut. `factoryUid`: only those of that factory's definition. */
  list({ teamUids }: Caller, factoryUid?: string): Promise<StoredIdentity[]> {
    return this.store.listFor(teamUids, factoryUid ?? null);
  }
}

/** An identity and its service account of the same uid come into being together. */
@Injectable()
export class CreateIdentity {
  constructor(
    private readonly database: Database,
    private readonly store: IdentitiesStore,
    private readonly accounts: ServiceAccountsService,
    private readonly references: IdentityReferences,
    private readonly secrets: ServerSecrets,
  ) {}

  async execute(
    caller: Caller,
    { name, ...given }: IdentityChanges & Pick<IdentityFields, 'name'>,
  ): Promise<CreateIdentityResult> {
    const { teamUid } = caller;
    if (teamUid === null) return { kind: 'team_needed' };
    const refusal = await this.references.check(teamUid, given);
    if (refusal) return refusal;
    const uid = newUid();
    const sealing = sealServers(this.secrets, uid, given.mcpServers ?? null, null);
    if (sealing.kind === 'invalid') return sealing;
    const fields = { ...BLANK_IDENTITY, ...given, name, mcpServers: sealing.value };
    return refuseTakenName(() =>
      this.database.transaction(async (tx): Promise<CreateIdentityResult> => {
        if (!(await hasRoom(tx, 'agent_identities', teamUid, MAX_IDENTITIES)))
          return { kind: 'limit_reached', limit: MAX_IDENTITIES };
        await this.accounts.createForIdentity(tx, { uid, teamUid, name });
        return { kind: 'created', identity: await this.store.insert(tx, uid, { teamUid, factoryUid: null }, fields) };
      }),
    );
  }
}

/** Runs that are there already keep the configuration that was resolved for them. */
@Injectable()
export class UpdateIdentity {
  constructor(
    private readonly database: Database,
    private readonly find: FindIdentities,
    private readonly store: IdentitiesStore,
    private readonly accounts: ServiceAccountsService,
    private readonly references: IdentityReferences,
    private readonly secrets: ServerSecrets,
  ) {}

  async execute(caller: Caller, uid: string, changes: IdentityChanges): Promise<UpdateIdentityResult> {
    const lookup = await this.find.find(caller, uid, 'identities:manage');
    if (lookup.kind !== 'found') return lookup;
    const refusal = await this.references.check(lookup.identity.teamUid, changes);
    if (refusal) return refusal;
    return refuseTakenName(() => this.database.transaction((tx) => this.change(tx, uid, changes)));
  }

  private async change(tx: Queryable, uid: string, changes: IdentityChanges): Promise<UpdateIdentityResult> {
    const stored = await this.store.lock(tx, uid);
    if (!stored) return { kind: 'unknown' };
    const sealing: Sealing<McpServers | null> =
      changes.mcpServers === undefined
        ? { kind: 'sealed', value: stored.mcpServers }
        : sealServers(this.secrets, uid, changes.mcpServers, stored.mcpServers);
    if (sealing.kind === 'invalid') return sealing;
    const fields = { ...stored, ...changes, mcpServers: sealing.value };
    if (fields.name !== stored.name) await this.accounts.rename(tx, uid, fields.name);
    return { kind: 'updated', identity: await this.store.update(tx, uid, stored.teamUid, fields) };
  }
}

/** Its tokens end with it: in this process at once, in others within a second. The service account stays, disabled, so that runs of the past keep the name. */
@Injectable()
export class DeleteIdentity {
  constructor(
    private readonly database: Database,
    private readonly find: FindIdentities,
    private readonly store: IdentitiesStore,
    private readonly accounts: ServiceAccountsService,
    private readonly tokens: TokenAuthenticator,
  ) {}

  async execute(caller: Caller, uid: string): Promise<DeleteIdentityResult> {
    const lookup = await this.find.find(caller, uid, 'identities:manage');
    if (lookup.kind !== 'found') return lookup;
    const result = await this.database.transaction(async (tx): Promise<DeleteIdentityResult> => {
      if (!(await this.store.delete(tx, uid))) return { kind: 'unknown' };
      await this.accounts.disable(tx, uid);
      return { kind: 'deleted' };
    });
    this.tokens.clearCache();
    return result;
  }
}

function sealServers(
  secrets: ServerSecrets,
  uid: string,
  servers: McpServers | null,
  stored: McpServers | null,
): Sealing<McpServers | null> {
  return servers === null
    ? { kind: 'sealed', value: null }
    : secrets.sealAll(identityOwner(uid), servers, stored, '/mcp_servers');
}
