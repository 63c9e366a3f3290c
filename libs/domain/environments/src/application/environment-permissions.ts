import { type Caller, can, hasPermission, type Permission, type Role } from '#platform/auth';
import type { Environment } from '../domain/environment.js';
import type { Asker } from '../domain/environment-access.js';

type Owned = Pick<Environment, 'teamUid' | 'ownerUserUid'>;

/** The permission for each act on the team that has the environment. Runs that use an environment receive its secrets. */
const NEEDED = { see: 'environments:read', use: 'runs:write', manage: 'environments:write' } as const satisfies Record<
  string,
  Permission
>;
export type EnvironmentAct = keyof typeof NEEDED;

/** The caller with all teams where they may do this: the team header narrows lists, not what may be seen or used. */
export function askerOf({ principal }: Caller, act: EnvironmentAct): Asker {
  return {
    userUid: principal.type === 'user' ? principal.uid : null,
    teamUids: teamsWhere(act, principal.memberships),
  };
}

/** The teams on which the role of the member permits the act. */
export const teamsWhere = (
  act: EnvironmentAct,
  memberships: readonly { readonly teamUid: string; readonly role: Role }[],
): string[] => memberships.filter(({ role }) => can(role, NEEDED[act])).map(({ teamUid }) => teamUid);

/** {@link askerOf}, with the teams that lists are about. */
export function listAskerOf(caller: Caller, act: EnvironmentAct): Asker {
  const { userUid, teamUids } = askerOf(caller, act);
  return { userUid, teamUids: teamUids.filter((teamUid) => caller.teamUids.includes(teamUid)) };
}

/** Whether the caller may update and share an environment: their own, or one of a team by their role there. */
export function mayManage(caller: Caller, { teamUid, ownerUserUid }: Owned): boolean {
  const { type, uid } = caller.principal;
  if (teamUid === null) return type === 'user' && uid === ownerUserUid;
  return hasPermission(caller, teamUid, 'environments:write');
}
