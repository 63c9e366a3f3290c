import { Injectable } from '@nestjs/common';
import { ServiceAccountsService, TokenAuthenticator } from '#platform/auth';
import { newUid } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import type { IdentityFields } from '../domain/agent-identity.js';
import type { DefinedIdentity, IdentityIssue } from '../domain/defined-identity.js';
import { DefinedIdentitiesStore } from '../persistence/defined-identities.store.js';
import { IdentitiesStore } from '../persistence/identities.store.js';
import { hasRoom } from '../persistence/team-limit.js';
import { DefinedIdentityRules } from './defined-identity-rules.js';
import { MAX_IDENTITIES } from './identities.js';

export type CreateDefinedIdentityResult =
  { readonly kind: 'created'; readonly uid: string } | { readonly kind: 'limit_reached'; readonly limit: number };

/**
 * Agent identities that files define, for the room of the definitions: within its transaction, without asking who is
 * allowed to. Their names are unique within the factory. MCP servers are registered ones only: files hold no credentials.
 */
@Injectable()
export class DefinedIdentities {
  constructor(
    private readonly store: DefinedIdentitiesStore,
    private readonly identities: IdentitiesStore,
    private readonly accounts: ServiceAccountsService,
    private readonly rules: DefinedIdentityRules,
    private readonly tokens: TokenAuthenticator,
  ) {}

  /** Those of the team among `uids`. `held`: nobody else changes them until the transaction ends. */
  find(tx: Queryable, teamUid: string, uids: readonly string[], held: boolean): Promise<DefinedIdentity[]> {
    return this.store.find(tx, teamUid, uids, held);
  }

  /** How many more the team may have. */
  async places(tx: Queryable, teamUid: string): Promise<number> {
    return MAX_IDENTITIES - (await this.store.count(tx, teamUid));
  }

  /** What is wrong with each. */
  validate(
    tx: Queryable,
    teamUid: string,
    fields: readonly IdentityFields[],
  ): Promise<readonly (readonly IdentityIssue[])[]> {
    return this.rules.issues(tx, teamUid, fields);
  }

  /** With its service account. */
  async create(
    tx: Queryable,
    { teamUid, factoryUid }: { readonly teamUid: string; readonly factoryUid: string },
    fields: IdentityFields,
  ): Promise<CreateDefinedIdentityResult> {
    if (!(await hasRoom(tx, 'agent_identities', teamUid, MAX_IDENTITIES)))
      return { kind: 'limit_reached', limit: MAX_IDENTITIES };
    const uid = newUid();
    await this.accounts.createForIdentity(tx, { uid, teamUid, name: fields.name });
    await this.identities.insert(tx, uid, { teamUid, factoryUid }, fields);
    return { kind: 'created', uid };
  }

  /** All at once: names may change places. */
  async replaceAll(tx: Queryable, teamUid: string, all: readonly DefinedIdentity[]): Promise<void> {
    await this.store.freeNames(
      tx,
      teamUid,
      all.map(({ uid }) => uid),
    );
    for (const { uid, ...fields } of all) {
      await this.accounts.rename(tx, uid, fields.name);
      // Files name no secrets: those that were set over the API stay.
      const secrets = (await this.identities.lock(tx, uid))?.secrets ?? [];
      await this.identities.update(tx, uid, teamUid, { ...fields, secrets });
    }
  }

  /** Its service account stays, disabled, so that runs of the past keep the name. */
  async remove(tx: Queryable, uid: string): Promise<void> {
    if (await this.identities.delete(tx, uid)) await this.accounts.disable(tx, uid);
  }

  /** Call it after the commit of removals: tokens of what is gone end in this process at once, in others within a second. */
  forgetRemoved(): void {
    this.tokens.clearCache();
  }
}
