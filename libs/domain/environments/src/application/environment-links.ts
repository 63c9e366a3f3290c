import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { Clock, newUid } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { type EnvironmentLink, MAX_LINKS } from '../domain/environment-sharing.js';
import { hashLinkToken, newLinkToken } from '../domain/link-token.js';
import { EnvironmentLinksStore } from '../persistence/environment-links.store.js';
import { EnvironmentsStore } from '../persistence/environments.store.js';
import { type EnvironmentRefusal, FindEnvironment } from './find-environment.js';

export interface LinkLimits {
  readonly expiresAt: Date | null;
  readonly maxUses: number | null;
}

export type CreateLinkResult =
  /** The token is told this once. */
  | { readonly kind: 'created'; readonly link: EnvironmentLink; readonly token: string }
  | { readonly kind: 'already_expired' }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  | EnvironmentRefusal;
export type ListLinksResult =
  { readonly kind: 'found'; readonly links: readonly EnvironmentLink[] } | EnvironmentRefusal;
export type RevokeLinkResult = { readonly kind: 'revoked' } | { readonly kind: 'unknown_link' } | EnvironmentRefusal;

/** Makes a link: whoever has it and signs in gets to use the environment. */
@Injectable()
export class CreateLink {
  constructor(
    private readonly database: Database,
    private readonly find: FindEnvironment,
    private readonly environments: EnvironmentsStore,
    private readonly links: EnvironmentLinksStore,
    private readonly clock: Clock,
  ) {}

  async execute(caller: Caller, uid: string, { expiresAt, maxUses }: LinkLimits): Promise<CreateLinkResult> {
    const lookup = await this.find.execute(caller, uid, 'manage');
    if (lookup.kind !== 'found') return lookup;
    if (expiresAt !== null && expiresAt <= this.clock.now()) return { kind: 'already_expired' };
    const creator = { type: caller.principal.type, uid: caller.principal.uid };
    return this.database.transaction(async (tx): Promise<CreateLinkResult> => {
      if (!(await this.environments.lock(tx, uid))) return { kind: 'unknown' };
      // A statement of its own: it has to see what was committed while this one waited for the lock.
      if ((await this.links.list(uid, tx)).length >= MAX_LINKS) return { kind: 'limit_reached', limit: MAX_LINKS };
      const token = newLinkToken();
      const fields = { uid: newUid(), environmentUid: uid, expiresAt, maxUses, creator };
      return { kind: 'created', token, link: await this.links.insert(tx, fields, hashLinkToken(token)) };
    });
  }
}

/** All of them for those who may share the environment; guests see those that they have come by. */
@Injectable()
export class ListLinks {
  constructor(
    private readonly find: FindEnvironment,
    private readonly links: EnvironmentLinksStore,
  ) {}

  async execute(caller: Caller, uid: string): Promise<ListLinksResult> {
    const lookup = await this.find.execute(caller, uid, 'manage');
    if (lookup.kind === 'found') return { kind: 'found', links: await this.links.list(uid) };
    if (lookup.kind === 'unknown' || !(await this.find.isGuest(caller, uid))) return lookup;
    const { type, uid: userUid } = caller.principal;
    return { kind: 'found', links: type === 'user' ? await this.links.listHeld(uid, userUid) : [] };
  }
}

/**
 * Nobody comes by it any more, and those who did lose what it gave them. Somebody who has come by it, and may not revoke
 * it, gives up what it gave to them alone.
 */
@Injectable()
export class RevokeLink {
  constructor(
    private readonly find: FindEnvironment,
    private readonly links: EnvironmentLinksStore,
  ) {}

  async execute(caller: Caller, uid: string, linkUid: string): Promise<RevokeLinkResult> {
    const lookup = await this.find.execute(caller, uid, 'manage');
    const { principal } = caller;
    switch (lookup.kind) {
      case 'found':
        return { kind: (await this.links.delete(uid, linkUid)) ? 'revoked' : 'unknown_link' };
      case 'not_yours':
        return principal.type === 'user' && (await this.links.removeHolder(uid, linkUid, principal.uid))
          ? { kind: 'revoked' }
          : lookup;
      case 'unknown':
        return lookup;
    }
  }
}
