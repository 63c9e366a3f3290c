import { type Caller, can, roleIn } from '#libs/auth';
import type { Environment } from '../domain/environment.js';
import type { Asker } from '../domain/environment-access.js';

type Owned = Pick<Environment, 'teamUid' | 'ownerUserUid'>;

/** The caller with all their teams: the team header narrows lists, not what may be looked at. */
export function askerOf({ principal }: Caller): Asker {
  return {
    userUid: principal.type === 'user' ? principal.uid : null,
    teamUids: principal.memberships.filter(({ role }) => can(role, 'environments:read')).map(({ teamUid }) => teamUid),
  };
}

/** The caller with the teams that lists are about. */
export const listAskerOf = (caller: Caller): Asker => ({
  userUid: askerOf(caller).userUid,
  teamUids: caller.teamUids,
});

/** For whom the caller may give up what was granted: for themselves, and for teams whose environments they look after. */
export function guestOf({ principal }: Caller): Asker {
  return {
    userUid: principal.type === 'user' ? principal.uid : null,
    teamUids: principal.memberships.filter(({ role }) => can(role, 'environments:write')).map(({ teamUid }) => teamUid),
  };
}

/** Whether the caller may change an environment and say who else may use it: their own, or by their role on its team. */
export function mayManage({ principal }: Caller, { teamUid, ownerUserUid }: Owned): boolean {
  if (teamUid === null) return principal.type === 'user' && principal.uid === ownerUserUid;
  const role = roleIn(principal, teamUid);
  return role !== null && can(role, 'environments:write');
}
