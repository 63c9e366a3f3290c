import { Injectable } from '@nestjs/common';
import { ServiceAccountsService } from '#platform/auth';
import { type Issue, newUid, type RejectionOf } from '#platform/kernel';
import { isBelowOwnerLimit, type Queryable, type Transaction } from '#platform/persistence';
import { MAX_IDENTITIES } from './identities.service.js';
import { IdentityRules } from './identity-rules.js';
import type { IdentityFields } from '../domain/agent-identity.js';
import { IdentitiesStore } from '../persistence/identities.store.js';

/** An identity of a team as definitions see it; `env` and `headers` of its MCP servers are sealed. */
export type DefinedIdentity = IdentityFields & { readonly uid: string };

/**
 * Agent identities that the files of a factory define, in the transaction of the library `definitions`, which has authorized
 * the caller. Their names are unique in the factory. Their MCP servers are registered ones: files contain no credentials.
 */
@Injectable()
export class DefinedIdentities {
  constructor(
    private readonly identities: IdentitiesStore,
    private readonly accounts: ServiceAccountsService,
    private readonly rules: IdentityRules,
  ) {}

  /** The identities of the team among `uids`. `locked`: nobody else can change them until the transaction ends. */
  async find(tx: Queryable, teamUid: string, uids: readonly string[], locked: boolean): Promise<DefinedIdentity[]> {
    const found: DefinedIdentity[] = [];
    // Sorted, so that transactions that lock several identities cannot deadlock.
    for (const uid of [...uids].sort()) {
      const identity = await (locked ? this.identities.lock(tx, uid) : this.identities.find(uid, tx));
      if (identity?.teamUid === teamUid) found.push(identity);
    }
    return found;
  }

  async places(tx: Queryable, teamUid: string): Promise<number> {
    return MAX_IDENTITIES - (await this.identities.count(tx, teamUid));
  }

  validate(tx: Queryable, teamUid: string, fields: readonly IdentityFields[]): Promise<readonly (readonly Issue[])[]> {
    return this.rules.issuesOfDefined(tx, teamUid, fields);
  }

  async create(
    tx: Queryable,
    { teamUid, factoryUid }: { readonly teamUid: string; readonly factoryUid: string },
    fields: IdentityFields,
  ): Promise<{ readonly kind: 'created'; readonly uid: string } | RejectionOf<'limit_reached'>> {
    if (!(await isBelowOwnerLimit(tx, 'agent_identities', { teamUid, userUid: null }, MAX_IDENTITIES)))
      return { kind: 'limit_reached', limit: MAX_IDENTITIES };
    const uid = newUid();
    await this.accounts.createForIdentity(tx, { uid, teamUid, name: fields.name });
    await this.identities.insert(tx, uid, { teamUid, factoryUid }, fields);
    return { kind: 'created', uid };
  }

  /** Replaces all of them in one act, so that two of them can exchange their names. */
  async replaceAll(tx: Queryable, teamUid: string, all: readonly DefinedIdentity[]): Promise<void> {
    const uids = all.map(({ uid }) => uid);
    await this.identities.freeNames(tx, teamUid, uids);
    for (const { uid, ...fields } of all) {
      await this.accounts.rename(tx, uid, fields.name);
      // Files contain no secrets: those that were set through the API stay.
      const secrets = (await this.identities.lock(tx, uid))?.secrets ?? [];
      await this.identities.update(tx, uid, teamUid, { ...fields, secrets });
    }
  }

  /** The service account stays, disabled, so that past runs keep its name. */
  async remove(tx: Transaction, uid: string): Promise<void> {
    if (await this.identities.delete(tx, uid)) await this.accounts.disable(tx, uid);
  }
}
