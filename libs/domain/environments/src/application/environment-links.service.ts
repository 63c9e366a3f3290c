import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { Clock, newUid, type RejectionOf } from '#platform/kernel';
import { Database } from '#platform/persistence';
import type { EnvironmentDetails } from '../domain/environment.js';
import {
  type EnvironmentLink,
  hashLinkToken,
  isLinkToken,
  MAX_LINKS,
  newLinkToken,
} from '../domain/environment-sharing.js';
import { EnvironmentLinksStore } from '../persistence/environment-links.store.js';
import { EnvironmentsStore } from '../persistence/environments.store.js';
import { mayManage } from './environment-permissions.js';
import { type EnvironmentRejection, EnvironmentsService } from './environments.service.js';

export interface LinkLimits {
  readonly expiresAt: Date | null;
  readonly maxUses: number | null;
}

export type CreateLinkResult =
  /** The token is returned only here. */
  | { readonly kind: 'created'; readonly link: EnvironmentLink; readonly token: string }
  | { readonly kind: 'already_expired' }
  | RejectionOf<'limit_reached'>
  | EnvironmentRejection;
export type ListLinksResult =
  { readonly kind: 'found'; readonly links: readonly EnvironmentLink[] } | EnvironmentRejection;
export type RevokeLinkResult =
  { readonly kind: 'revoked' } | { readonly kind: 'link_not_found' } | EnvironmentRejection;
export type RedeemLinkResult =
  | { readonly kind: 'redeemed'; readonly environment: EnvironmentDetails }
  /** Unknown, expired, revoked or used up; the caller cannot distinguish these. */
  | { readonly kind: 'link_not_found' }
  /** A service account uses what its team was granted. */
  | { readonly kind: 'not_a_person' };

/** A link lets every person who has its token and signs in use the environment. */
@Injectable()
export class EnvironmentLinksService {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsService,
    private readonly store: EnvironmentsStore,
    private readonly links: EnvironmentLinksStore,
    private readonly clock: Clock,
  ) {}

  async create(caller: Caller, uid: string, { expiresAt, maxUses }: LinkLimits): Promise<CreateLinkResult> {
    const lookup = await this.environments.get(caller, uid, 'manage');
    if (lookup.kind !== 'found') return lookup;
    if (expiresAt !== null && expiresAt <= this.clock.now()) return { kind: 'already_expired' };
    const creator = { type: caller.principal.type, uid: caller.principal.uid };
    return this.database.transaction(async (tx): Promise<CreateLinkResult> => {
      if (!(await this.store.lock(tx, uid))) return { kind: 'not_found' };
      // A separate statement: it must see what was committed while the statement before waited for the lock.
      if ((await this.links.list(uid, tx)).length >= MAX_LINKS) return { kind: 'limit_reached', limit: MAX_LINKS };
      const token = newLinkToken();
      const fields = { uid: newUid(), environmentUid: uid, expiresAt, maxUses, creator };
      return { kind: 'created', token, link: await this.links.insert(tx, fields, hashLinkToken(token)) };
    });
  }

  /** All links for a caller who may share the environment; a guest sees those that they have redeemed. */
  async list(caller: Caller, uid: string): Promise<ListLinksResult> {
    const lookup = await this.environments.get(caller, uid, 'manage');
    if (lookup.kind === 'found') return { kind: 'found', links: await this.links.list(uid) };
    if (lookup.kind === 'not_found' || !(await this.environments.isGuest(caller, uid))) return lookup;
    const { type, uid: userUid } = caller.principal;
    return { kind: 'found', links: type === 'user' ? await this.links.listHeld(uid, userUid) : [] };
  }

  /**
   * Ends the link and the access of everybody who has redeemed it. A person who has redeemed it, and may not revoke it, ends
   * their own access only.
   */
  async revoke(caller: Caller, uid: string, linkUid: string): Promise<RevokeLinkResult> {
    const lookup = await this.environments.get(caller, uid, 'manage');
    const { principal } = caller;
    switch (lookup.kind) {
      case 'found':
        return { kind: (await this.links.delete(uid, linkUid)) ? 'revoked' : 'link_not_found' };
      case 'forbidden':
        return principal.type === 'user' && (await this.links.removeHolder(uid, linkUid, principal.uid))
          ? { kind: 'revoked' }
          : lookup;
      case 'not_found':
        return lookup;
    }
  }

  /** Gives a person access through a link. A person who redeems it again is counted once. */
  async redeem(caller: Caller, token: string): Promise<RedeemLinkResult> {
    const { principal } = caller;
    if (principal.type !== 'user') return { kind: 'not_a_person' };
    if (!isLinkToken(token)) return { kind: 'link_not_found' };
    return this.database.transaction(async (tx): Promise<RedeemLinkResult> => {
      const link = await this.links.lockByToken(tx, hashLinkToken(token));
      const environment = link && (await this.store.find(link.environmentUid, tx));
      if (!environment) return { kind: 'link_not_found' };
      // A manager of the environment only tests the link.
      if (mayManage(caller, environment) || (await this.links.holds(tx, link, principal.uid)))
        return { kind: 'redeemed', environment };
      if (link.maxUses !== null && link.uses >= link.maxUses) return { kind: 'link_not_found' };
      await this.links.addHolder(tx, link, principal.uid);
      return { kind: 'redeemed', environment };
    });
  }
}
