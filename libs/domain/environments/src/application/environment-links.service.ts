import { Injectable } from '@nestjs/common';
import { allowByPossession, type Caller, isAllowed } from '#platform/auth';
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
import { type EnvironmentRejection, EnvironmentsService } from './environments.service.js';

@Injectable()
export class EnvironmentLinksService {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsService,
    private readonly store: EnvironmentsStore,
    private readonly links: EnvironmentLinksStore,
    private readonly clock: Clock,
  ) {}

  /** The token is returned only here. */
  async create(
    caller: Caller,
    uid: string,
    { expiresAt, maxUses }: Pick<EnvironmentLink, 'expiresAt' | 'maxUses'>,
  ): Promise<
    | { readonly link: EnvironmentLink; readonly token: string }
    | RejectionOf<'invalid' | 'limit_reached'>
    | EnvironmentRejection
  > {
    const environment = await this.environments.getManaged(caller, uid);
    if ('kind' in environment) return environment;
    if (expiresAt !== null && expiresAt <= this.clock.now())
      return { kind: 'invalid', issues: [{ pointer: '/expires_at', detail: 'must lie in the future' }] };
    return this.database.transaction(async (tx) => {
      if (!(await this.store.lock(tx, uid))) return { kind: 'not_found' };
      // A separate statement: it must see what was committed while the statement before waited for the lock.
      if ((await this.links.list(uid, { queryable: tx })).length >= MAX_LINKS)
        return { kind: 'limit_reached', limit: MAX_LINKS };
      const token = newLinkToken();
      const fields = { uid: newUid(), environmentUid: uid, expiresAt, maxUses, creator: caller.principal };
      return { token, link: await this.links.insert(tx, fields, hashLinkToken(token)) };
    });
  }

  /** All links for a caller who may share the environment; a guest sees those that they have redeemed. */
  async list(caller: Caller, uid: string): Promise<EnvironmentLink[] | EnvironmentRejection> {
    const environment = await this.environments.get(caller, uid);
    if ('kind' in environment) return environment;
    if (isAllowed(caller, environment, 'environments:write')) return this.links.list(uid);
    if (!environment.isGuest && environment.guestTeamUids.length === 0) return { kind: 'forbidden' };
    return this.links.list(uid, { holderUid: caller.principal.uid });
  }

  /** A person who has redeemed the link, and may not revoke it, ends their own access only. */
  async revoke(
    caller: Caller,
    uid: string,
    linkUid: string,
  ): Promise<{ readonly revoked: true } | EnvironmentRejection> {
    const environment = await this.environments.getManaged(caller, uid);
    if (!('kind' in environment))
      return (await this.links.delete(uid, linkUid)) ? { revoked: true } : { kind: 'not_found' };
    if (environment.kind === 'not_found') return environment;
    return (await this.links.removeHolder(uid, linkUid, caller.principal.uid)) ? { revoked: true } : environment;
  }

  /**
   * Gives a person access through a link. A person who redeems it again is counted once. Unknown, expired, revoked and
   * used-up links cannot be distinguished. A service account, which is `forbidden`, uses what its team was granted.
   */
  async redeem(caller: Caller, token: string): Promise<EnvironmentDetails | EnvironmentRejection> {
    const { principal } = caller;
    if (principal.type !== 'user') return { kind: 'forbidden' };
    if (!isLinkToken(token)) return { kind: 'not_found' };
    return this.database.transaction(async (tx) => {
      const link = await this.links.lockByToken(tx, hashLinkToken(token));
      const environment = link && (await this.store.find(link.environmentUid, tx));
      if (!environment) return { kind: 'not_found' };
      allowByPossession(caller, environment);
      // A manager of the environment only tests the link.
      const isManager = isAllowed(caller, environment, 'environments:write');
      if (isManager || (await this.links.holds(tx, link, principal.uid))) return environment;
      if (link.maxUses !== null && link.uses >= link.maxUses) return { kind: 'not_found' };
      await this.links.addHolder(tx, link, principal.uid);
      return environment;
    });
  }
}
