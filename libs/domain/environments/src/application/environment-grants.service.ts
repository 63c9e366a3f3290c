import { Injectable } from '@nestjs/common';
import { type Caller, PrincipalDirectory } from '#platform/auth';
import { isUid, newUid, type RejectionOf } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { type EnvironmentGrant, type Grantee, MAX_GRANTS } from '../domain/environment-sharing.js';
import { EnvironmentGrantsStore } from '../persistence/environment-grants.store.js';
import { EnvironmentsStore } from '../persistence/environments.store.js';
import { askerOf } from './environment-permissions.js';
import { type EnvironmentRejection, EnvironmentsService } from './environments.service.js';

/** How a request identifies a grantee. */
export type NamedGrantee = { readonly userUid: string } | { readonly userEmail: string } | { readonly teamUid: string };

export type CreateGrantResult =
  /** Also for a grant that existed before. */
  | { readonly kind: 'granted'; readonly grant: EnvironmentGrant }
  | { readonly kind: 'unknown_grantee' }
  | { readonly kind: 'is_owner' }
  | RejectionOf<'limit_reached'>
  | EnvironmentRejection;
export type ListGrantsResult =
  { readonly kind: 'found'; readonly grants: readonly EnvironmentGrant[] } | EnvironmentRejection;
export type RevokeGrantResult =
  { readonly kind: 'revoked' } | { readonly kind: 'grant_not_found' } | EnvironmentRejection;

/** Lets a person, or all members of a team, see an environment and have runs work in it. */
@Injectable()
export class EnvironmentGrantsService {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsService,
    private readonly principals: PrincipalDirectory,
    private readonly store: EnvironmentsStore,
    private readonly grants: EnvironmentGrantsStore,
  ) {}

  async create(caller: Caller, uid: string, named: NamedGrantee): Promise<CreateGrantResult> {
    const lookup = await this.environments.get(caller, uid, 'manage');
    if (lookup.kind !== 'found') return lookup;
    const grantee = await this.resolve(named);
    if (!grantee) return { kind: 'unknown_grantee' };
    const { teamUid, ownerUserUid } = lookup.environment;
    if (grantee.uid === (grantee.type === 'team' ? teamUid : ownerUserUid)) return { kind: 'is_owner' };
    const creator = { type: caller.principal.type, uid: caller.principal.uid };
    return this.database.transaction(async (tx): Promise<CreateGrantResult> => {
      if (!(await this.store.lock(tx, uid))) return { kind: 'not_found' };
      // A separate statement: it must see what was committed while the statement before waited for the lock.
      const known = await this.grants.list(uid, tx);
      const same = known.find(({ grantee: { type, uid: to } }) => type === grantee.type && to === grantee.uid);
      if (same) return { kind: 'granted', grant: same };
      if (known.length >= MAX_GRANTS) return { kind: 'limit_reached', limit: MAX_GRANTS };
      const grant = await this.grants.insert(tx, { uid: newUid(), environmentUid: uid, grantee, creator });
      return { kind: 'granted', grant };
    });
  }

  /** All grants for a caller who may share the environment; a guest sees those that they may revoke. */
  async list(caller: Caller, uid: string): Promise<ListGrantsResult> {
    const lookup = await this.environments.get(caller, uid, 'manage');
    if (lookup.kind === 'found') return { kind: 'found', grants: await this.grants.list(uid) };
    if (lookup.kind === 'not_found' || !(await this.environments.isGuest(caller, uid))) return lookup;
    const { userUid, teamUids } = askerOf(caller, 'manage');
    const grants = (await this.grants.list(uid)).filter(({ grantee: { type, uid: to } }) =>
      type === 'user' ? to === userUid : teamUids.includes(to),
    );
    return { kind: 'found', grants };
  }

  /**
   * From its commit on no run can be created, and none begins, through this grant. Grantees may revoke it too: a person
   * their own, an admin or owner of a team that of the team.
   */
  async revoke(caller: Caller, uid: string, grantUid: string): Promise<RevokeGrantResult> {
    const lookup = await this.environments.get(caller, uid, 'manage');
    switch (lookup.kind) {
      case 'found':
        return { kind: (await this.grants.delete(uid, grantUid)) ? 'revoked' : 'grant_not_found' };
      case 'forbidden':
        // A guest cannot distinguish the grants of others from grants that do not exist.
        return (await this.grants.deleteOf(askerOf(caller, 'manage'), uid, grantUid)) ? { kind: 'revoked' } : lookup;
      case 'not_found':
        return lookup;
    }
  }

  private async resolve(named: NamedGrantee): Promise<Grantee | null> {
    if ('teamUid' in named)
      return isUid(named.teamUid) && (await this.principals.isTeam(named.teamUid))
        ? { type: 'team', uid: named.teamUid }
        : null;
    const uid = await this.principals.findUser(
      'userUid' in named ? { uid: named.userUid } : { email: named.userEmail },
    );
    return uid === null ? null : { type: 'user', uid };
  }
}
