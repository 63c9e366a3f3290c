import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { Database } from '#platform/persistence';
import type { EnvironmentDetails } from '../domain/environment.js';
import { hashLinkToken, isLinkToken } from '../domain/link-token.js';
import { EnvironmentLinksStore } from '../persistence/environment-links.store.js';
import { EnvironmentsStore } from '../persistence/environments.store.js';
import { mayManage } from './environment-permissions.js';

export type RedeemLinkResult =
  | { readonly kind: 'redeemed'; readonly environment: EnvironmentDetails }
  /** Unknown, expired, revoked or used up: nobody can tell which. */
  | { readonly kind: 'no_link' }
  /** A service account: it has what its team has. */
  | { readonly kind: 'no_person' };

/** Gives a person what a link leads to. The same person may come again; that counts once. */
@Injectable()
export class RedeemLink {
  constructor(
    private readonly database: Database,
    private readonly links: EnvironmentLinksStore,
    private readonly environments: EnvironmentsStore,
  ) {}

  async execute(caller: Caller, token: string): Promise<RedeemLinkResult> {
    const { principal } = caller;
    if (principal.type !== 'user') return { kind: 'no_person' };
    if (!isLinkToken(token)) return { kind: 'no_link' };
    return this.database.transaction(async (tx): Promise<RedeemLinkResult> => {
      const link = await this.links.lockByToken(tx, hashLinkToken(token));
      const environment = link && (await this.environments.find(link.environmentUid, tx));
      if (!environment) return { kind: 'no_link' };
      // Those who look after it only try their link.
      if (mayManage(caller, environment) || (await this.links.holds(tx, link, principal.uid)))
        return { kind: 'redeemed', environment };
      if (link.maxUses !== null && link.uses >= link.maxUses) return { kind: 'no_link' };
      await this.links.addHolder(tx, link, principal.uid);
      return { kind: 'redeemed', environment };
    });
  }
}
