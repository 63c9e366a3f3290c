import { Injectable } from '@nestjs/common';
import { type Caller, isAllowed, PrincipalDirectory } from '#platform/auth';
import { isUid, newUid, type RejectionOf } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { type EnvironmentGrant, type Grantee, MAX_GRANTS } from '../domain/environment-sharing.js';
import { EnvironmentGrantsStore } from '../persistence/environment-grants.store.js';
import { EnvironmentsStore } from '../persistence/environments.store.js';
import { askerOf, type EnvironmentRejection, EnvironmentsService, teamsWith } from './environments.service.js';

/** How a request identifies a grantee: exactly one of these. */
export interface NamedGrantee {
  readonly user_uid?: string;
  readonly user_email?: string;
  readonly team_uid?: string;
}

const UNKNOWN_GRANTEES = {
  '/team_uid': 'must be an existing team of this installation',
  '/user_uid': 'must be an existing user of this installation',
  '/user_email':
    'must be the address of a user of this installation; one that is not verified only for a member of your team, or by `user_uid`',
} as const;

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

  /** Returns a grant to the same grantee that existed before. */
  async create(
    caller: Caller,
    uid: string,
    named: NamedGrantee,
  ): Promise<EnvironmentGrant | RejectionOf<'invalid' | 'limit_reached'> | EnvironmentRejection> {
    const environment = await this.environments.getManaged(caller, uid);
    if ('kind' in environment) return environment;
    const pointer =
      named.team_uid !== undefined ? '/team_uid' : named.user_uid !== undefined ? '/user_uid' : '/user_email';
    const invalid = (detail: string) => ({ kind: 'invalid', issues: [{ pointer, detail }] }) as const;
    const grantee = await this.resolve(caller, named);
    if (!grantee) return invalid(UNKNOWN_GRANTEES[pointer]);
    const { teamUid, userUid } = environment;
    if (grantee.uid === (grantee.type === 'team' ? teamUid : userUid))
      return invalid('names the owner of the environment');
    return this.database.transaction(async (tx) => {
      if (!(await this.store.lock(tx, uid))) return { kind: 'not_found' };
      // A separate statement: it must see what was committed while the statement before waited for the lock.
      const known = await this.grants.list(uid, tx);
      const same = known.find(({ grantee: { type, uid: to } }) => type === grantee.type && to === grantee.uid);
      if (same) return same;
      if (known.length >= MAX_GRANTS) return { kind: 'limit_reached', limit: MAX_GRANTS };
      return this.grants.insert(tx, { uid: newUid(), environmentUid: uid, grantee, creator: caller.principal });
    });
  }

  /** All grants for a caller who may share the environment; a guest sees those that they may revoke. */
  async list(caller: Caller, uid: string): Promise<EnvironmentGrant[] | EnvironmentRejection> {
    const environment = await this.environments.get(caller, uid);
    if ('kind' in environment) return environment;
    const grants = await this.grants.list(uid);
    if (isAllowed(caller, environment, 'environments:write')) return grants;
    if (!environment.isGuest && environment.guestTeamUids.length === 0) return { kind: 'forbidden' };
    const own = [caller.principal.uid, ...teamsWith('environments:write', caller.principal.memberships)];
    return grants.filter(({ grantee }) => own.includes(grantee.uid));
  }

  /** Grantees may revoke it too: a person their own, an admin or owner of a team that of the team. */
  async revoke(
    caller: Caller,
    uid: string,
    grantUid: string,
  ): Promise<{ readonly revoked: true } | EnvironmentRejection> {
    const environment = await this.environments.getManaged(caller, uid);
    if (!('kind' in environment))
      return (await this.grants.delete(uid, grantUid)) ? { revoked: true } : { kind: 'not_found' };
    if (environment.kind === 'not_found') return environment;
    // A guest cannot distinguish the grants of others from grants that do not exist.
    const grantee = askerOf(caller, teamsWith('environments:write', caller.principal.memberships));
    return (await this.grants.delete(uid, grantUid, grantee)) ? { revoked: true } : environment;
  }

  private async resolve(
    caller: Caller,
    { user_uid: userUid, user_email: email, team_uid: teamUid }: NamedGrantee,
  ): Promise<Grantee | null> {
    if (teamUid !== undefined)
      return isUid(teamUid) && (await this.principals.isTeam(teamUid)) ? { type: 'team', uid: teamUid } : null;
    const teams = caller.principal.memberships.map((membership) => membership.teamUid);
    const uid =
      userUid !== undefined
        ? await this.principals.findUser({ uid: userUid })
        : await this.principals.findUserByAddress(email?.trim() ?? '', teams);
    return uid === null ? null : { type: 'user', uid };
  }
}
