import { Injectable } from '@nestjs/common';
import { type Caller, PrincipalDirectory } from '#platform/auth';
import { isUid, newUid } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { type EnvironmentGrant, type Grantee, MAX_GRANTS } from '../domain/environment-sharing.js';
import { EnvironmentGrantsStore } from '../persistence/environment-grants.store.js';
import { EnvironmentsStore } from '../persistence/environments.store.js';
import { askerOf } from './environment-permissions.js';
import { type EnvironmentRefusal, FindEnvironment } from './find-environment.js';

/** How a request names whom it is about. */
export type NamedGrantee = { readonly userUid: string } | { readonly userEmail: string } | { readonly teamUid: string };

export type GrantEnvironmentResult =
  /** Or had been granted before. */
  | { readonly kind: 'granted'; readonly grant: EnvironmentGrant }
  | { readonly kind: 'unknown_grantee' }
  | { readonly kind: 'is_owner' }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  | EnvironmentRefusal;
export type ListGrantsResult =
  { readonly kind: 'found'; readonly grants: readonly EnvironmentGrant[] } | EnvironmentRefusal;
export type RevokeGrantResult = { readonly kind: 'revoked' } | { readonly kind: 'unknown_grant' } | EnvironmentRefusal;

/** Lets a person, or all members of a team, see an environment and have runs work in it. */
@Injectable()
export class GrantEnvironment {
  constructor(
    private readonly database: Database,
    private readonly find: FindEnvironment,
    private readonly principals: PrincipalDirectory,
    private readonly environments: EnvironmentsStore,
    private readonly grants: EnvironmentGrantsStore,
  ) {}

  async execute(caller: Caller, uid: string, named: NamedGrantee): Promise<GrantEnvironmentResult> {
    const lookup = await this.find.execute(caller, uid, 'manage');
    if (lookup.kind !== 'found') return lookup;
    const grantee = await this.resolve(named);
    if (!grantee) return { kind: 'unknown_grantee' };
    const { teamUid, ownerUserUid } = lookup.environment;
    if (grantee.uid === (grantee.type === 'team' ? teamUid : ownerUserUid)) return { kind: 'is_owner' };
    const creator = { type: caller.principal.type, uid: caller.principal.uid };
    return this.database.transaction(async (tx): Promise<GrantEnvironmentResult> => {
      if (!(await this.environments.lock(tx, uid))) return { kind: 'unknown' };
      // A statement of its own: it has to see what was committed while this one waited for the lock.
      const known = await this.grants.list(uid, tx);
      const same = known.find(({ grantee: { type, uid: to } }) => type === grantee.type && to === grantee.uid);
      if (same) return { kind: 'granted', grant: same };
      if (known.length >= MAX_GRANTS) return { kind: 'limit_reached', limit: MAX_GRANTS };
      const grant = await this.grants.insert(tx, { uid: newUid(), environmentUid: uid, grantee, creator });
      return { kind: 'granted', grant };
    });
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

/** All of them for those who may share the environment; guests see what they may give up. */
@Injectable()
export class ListGrants {
  constructor(
    private readonly find: FindEnvironment,
    private readonly grants: EnvironmentGrantsStore,
  ) {}

  async execute(caller: Caller, uid: string): Promise<ListGrantsResult> {
    const lookup = await this.find.execute(caller, uid, 'manage');
    if (lookup.kind === 'found') return { kind: 'found', grants: await this.grants.list(uid) };
    if (lookup.kind === 'unknown' || !(await this.find.isGuest(caller, uid))) return lookup;
    const { userUid, teamUids } = askerOf(caller, 'manage');
    const grants = (await this.grants.list(uid)).filter(({ grantee: { type, uid: to } }) =>
      type === 'user' ? to === userUid : teamUids.includes(to),
    );
    return { kind: 'found', grants };
  }
}

/**
 * From its commit on no run can be created, and none begins, by what this grant gave. Those who have it may give it up:
 * a person their own, an admin or owner of a team the team's.
 */
@Injectable()
export class RevokeGrant {
  constructor(
    private readonly find: FindEnvironment,
    private readonly grants: EnvironmentGrantsStore,
  ) {}

  async execute(caller: Caller, uid: string, grantUid: string): Promise<RevokeGrantResult> {
    const lookup = await this.find.execute(caller, uid, 'manage');
    switch (lookup.kind) {
      case 'found':
        return { kind: (await this.grants.delete(uid, grantUid)) ? 'revoked' : 'unknown_grant' };
      case 'not_yours':
        // Others' grants and those that do not exist look the same to a guest.
        return (await this.grants.deleteOf(askerOf(caller, 'manage'), uid, grantUid)) ? { kind: 'revoked' } : lookup;
      case 'unknown':
        return lookup;
    }
  }
}
